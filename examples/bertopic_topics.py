"""
Topics with BERTopic
====================

``CappedREFCMFS(mark_outliers=True)`` in the place of BERTopic's HDBSCAN, beside it and K-means,
and in batches. Run as ``python examples/bertopic_topics.py``, with ``pip install bertopic``. Texts
and their vectors are made here, so that nothing is downloaded.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from bertopic import BERTopic
from bertopic.dimensionality import BaseDimensionalityReduction
from bertopic.vectorizers import OnlineCountVectorizer
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from sfumato import CappedREFCMFS
from sfumato.metrics import ari

TOPICS = {
    "space": "orbit rocket launch moon satellite shuttle nasa mission solar planet",
    "hockey": "team game season player goal ice coach league playoff score",
    "medicine": "doctor patient disease treatment drug symptom clinic cancer medical dose",
    "cars": "engine car wheel brake oil dealer driver gear mileage road",
    "crypto": "key encryption privacy chip secure cipher algorithm government phone wiretap",
    "graphics": "image pixel color format render polygon file display software screen",
}
COMMON = "people time think know good make want say right way new look year work point"


def texts(
    n_texts: int = 3000, off_topic: float = 0.1, seed: int = 0
) -> tuple[list[str], np.ndarray]:
    """Return texts of 30 words and their topics; -1 for those of common and rare words alone."""
    rng = np.random.default_rng(seed)
    rare = [f"name{i}" for i in range(5000)]
    pools = [words.split() for words in TOPICS.values()]
    topics = rng.choice(len(pools), size=n_texts, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.05])
    topics[rng.random(n_texts) < off_topic] = -1
    made = []
    for topic in topics:
        own = rng.choice(pools[topic] if topic >= 0 else rare, size=14)
        made.append(
            " ".join([*own, *rng.choice(COMMON.split(), size=12), *rng.choice(rare, size=4)])
        )
    return made, topics


def coherence(model: BERTopic, documents: list[str], n_words: int = 8) -> float:
    """Mean normalized pointwise mutual information of the words of each topic, in documents."""
    vectorizer = CountVectorizer(binary=True)
    counts = vectorizer.fit_transform(documents).tocsc()
    share = np.asarray(counts.mean(axis=0)).ravel()
    column = vectorizer.vocabulary_
    values = []
    for topic, words in model.get_topics().items():
        known = [column[word] for word, _ in words[:n_words] if topic >= 0 and word in column]
        for a, b in combinations(known, 2):
            both = counts[:, [a]].multiply(counts[:, [b]]).mean()
            pair = np.log(both / (share[a] * share[b])) / -np.log(both) if 0 < both < 1 else -1.0
            values.append(pair)
    return float(np.mean(values))


def topic_model(clusterer: object, **options: object) -> BERTopic:
    """Return BERTopic around a clusterer, without a language model."""
    reduction = BaseDimensionalityReduction()
    return BERTopic(embedding_model=None, umap_model=reduction, hdbscan_model=clusterer, **options)


def compare(documents: list[str], vectors: np.ndarray, truth: np.ndarray) -> None:
    """Print what three clusterers make of the same vectors."""
    clusterers = {
        "CappedREFCMFS": CappedREFCMFS(6, mark_outliers=True, random_state=0),
        "HDBSCAN": HDBSCAN(min_cluster_size=30, copy=True),
        "KMeans": KMeans(6, n_init=10, random_state=0),
    }
    print(f"{'clusterer':15}{'topics':>7}{'-1':>7}{'ARI':>7}{'coherence':>11}")
    for name, clusterer in clusterers.items():
        model = topic_model(clusterer)
        topics = np.array(model.fit_transform(documents, vectors)[0])
        found = len(set(topics.tolist()) - {-1})
        marked, agreement = np.mean(topics == -1), ari(truth, topics)
        quality = coherence(model, documents)
        print(f"{name:15}{found:7}{marked:7.1%}{agreement:7.3f}{quality:11.3f}")


def probabilities(documents: list[str], vectors: np.ndarray) -> None:
    """Print topics and probabilities of new texts."""
    clusterer = CappedREFCMFS(6, mark_outliers=True, random_state=0)
    model = topic_model(clusterer)
    model.fit(documents[:-4], vectors[:-4])
    topics, _ = model.transform(documents[-4:], vectors[-4:])
    print("New texts:", list(map(int, topics)))
    print(clusterer.predict_proba(vectors[-4:]).round(2))


def in_batches(documents: list[str], vectors: np.ndarray, n_batches: int = 6) -> None:
    """Print the topics of texts that come in batches."""
    clusterer = CappedREFCMFS(6, mark_outliers=True, random_state=0)
    model = topic_model(clusterer, vectorizer_model=OnlineCountVectorizer())
    for rows in np.array_split(np.arange(len(documents)), n_batches):
        model.partial_fit([documents[row] for row in rows], vectors[rows])
    print(f"After {clusterer.n_batches_} batches:")
    for topic, words in model.get_topics().items():
        print(f"  {topic}: {', '.join(word for word, _ in words[:6])}")


def main() -> None:
    """Compare, score new texts, and learn in batches."""
    documents, truth = texts()
    embed = make_pipeline(
        TfidfVectorizer(max_df=0.3), TruncatedSVD(20, random_state=0), Normalizer()
    )
    vectors = embed.fit_transform(documents).astype(np.float32)
    compare(documents, vectors, truth)
    probabilities(documents, vectors)
    in_batches(documents, vectors)


if __name__ == "__main__":
    main()
