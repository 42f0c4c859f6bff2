"""
Topics of short texts, and those off topic
==========================================

Tickets of a help desk, as TF-IDF vectors on a few axes. Clusters are topics; tickets that fit none
are marked, and memberships name a second topic.
"""

# %%
# Tickets made of the words of five topics, some of two, and some of words that occur once.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from sfumato import CappedREFCMFS
from sfumato.exceptions import UnitNormWarning
from sfumato.metrics import ari

topics = {
    "login": "password account login reset email verify locked code user access sign",
    "billing": "invoice payment card charge refund billing price plan discount bank tax",
    "delivery": "package delivery shipping courier late address tracking parcel arrived box",
    "crash": "crash error freeze update version bug screen restart install log memory",
    "export": "export file csv download report column table format spreadsheet data pdf",
}
words = {name: text.split() for name, text in topics.items()}
names = list(words)
rng = np.random.default_rng(0)
rare = [f"word{i}" for i in range(4000)]


def ticket(topic, second=None):
    """Some twenty words: of a topic, or of two, or of none."""
    pool = rare if topic is None else words[topic] + (words[second] if second else [])
    return " ".join([*rng.choice(pool, size=20), *rng.choice(rare, size=2)])


truth = rng.choice(5, size=1500, p=[0.3, 0.25, 0.2, 0.15, 0.1])
tickets = [ticket(names[k]) for k in truth]
tickets += [ticket("login", "crash") for _ in range(40)]  # About two topics.
tickets += [ticket(None) for _ in range(60)]  # Off topic.

# %%
warnings.simplefilter("ignore", UnitNormWarning)  # Normalized texts, as they should be.
vectors = make_pipeline(TfidfVectorizer(), TruncatedSVD(20, random_state=0), Normalizer())
X = vectors.fit_transform(tickets)
model = CappedREFCMFS(n_clusters=5, random_state=0).fit(X)
print(f"agreement of independent searches: {model.stability_:.3f}")
print(f"adjusted Rand index of tickets on one topic: {ari(truth, model.labels_[:1500]):.3f}")
print(f"off topic: {model.outliers_[1540:].sum()} of 60 marked")
print(f"on topic: {model.outliers_[:1500].sum()} of 1500 marked")

# %%
# The words of each cluster, by their mean weight in its tickets.
tfidf = vectors[0]
vocabulary = tfidf.get_feature_names_out()
weights = model.memberships_.T @ tfidf.transform(tickets)
top = [[vocabulary[j] for j in np.argsort(-row)[:6]] for row in weights.toarray()]
for k, row in enumerate(top):
    print(f"cluster {k}: {', '.join(row)}")

# %%
# Mean memberships: tickets about two topics have both.
groups = {name: truth == k for k, name in enumerate(names)}
rows = [model.predict_proba(X[:1500][own]).mean(axis=0) for own in groups.values()]
rows.append(model.predict_proba(X[1500:1540]).mean(axis=0))
rows.append(model.predict_proba(X[1540:]).mean(axis=0))
figure, axes = plt.subplots(figsize=(8, 4.4), layout="constrained")
shown = axes.imshow(rows, cmap="Blues", vmin=0, vmax=1, aspect="auto")
axes.set_yticks(range(7), [*groups, "login and crash", "off topic"])
axes.set_xticks(range(len(top)), [row[0] for row in top])
for (i, j), value in np.ndenumerate(np.array(rows)):
    axes.text(j, i, f"{value:.2f}", ha="center", va="center", color="w" if value > 0.5 else "k")
axes.set(title="Mean membership, by what the tickets are about", xlabel="first word of the cluster")
plt.show()
