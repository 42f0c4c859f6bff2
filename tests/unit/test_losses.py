"""Losses: the weight is the slope of the value, and everything grows as it must."""

import numpy as np
import pytest

from sfumato import L21, Capped, Squared
from tests.catalogue import every_loss

DISTANCES = np.geomspace(1e-4, 1e4, 401)


def away_from_kinks(loss, margin=1e-3):
    """Squared distances at which the loss has a derivative."""
    return DISTANCES[np.abs(DISTANCES / loss.cutoff - 1) > margin] ** 2


@every_loss
def test_weight_is_derivative_of_value(loss):
    t = away_from_kinks(loss)
    step = 1e-5 * t
    slope = (loss.value(t + step) - loss.value(t - step)) / (2 * step)
    np.testing.assert_allclose(loss.weight(t), slope, rtol=1e-7)


@every_loss
def test_tangent_lies_above_the_loss(loss):
    """The re-weighted mean lowers the objective because the loss is concave in the square."""
    touched, other = np.meshgrid(away_from_kinks(loss)[::5], DISTANCES[::5] ** 2, indexing="ij")
    value, weight = loss.value(touched), loss.weight(touched)
    lost_digits = 1e-15 * (value + weight * (touched + other))
    assert (loss.value(other) <= value + weight * (other - touched) + lost_digits).all()


@every_loss
def test_value_never_falls_and_starts_at_zero(loss):
    values = loss.value(np.concatenate([[0.0], DISTANCES**2]))
    assert values[0] == 0
    assert values[1] > 0
    assert (np.diff(values) >= 0).all()


@every_loss
def test_weight_never_rises(loss):
    weights = loss.weight(DISTANCES**2)
    assert (weights >= 0).all()
    assert (np.diff(weights) <= 0).all()


@every_loss
def test_kink_is_the_slope_at_distance_zero(loss):
    h = 1e-9
    assert loss.value(np.array([h**2]))[0] / h == pytest.approx(loss.kink, abs=1e-8)


@every_loss
def test_weight_at_zero_is_finite(loss):
    weight = loss.weight(np.zeros(1))[0]
    assert weight == (0 if loss.kink else loss.weight(np.full(1, 1e-30))[0])


@every_loss
def test_degree_is_the_power_it_grows_with(loss):
    near = np.array([0.01])  # a distance of 0.1, well below any cap
    assert loss.value(4 * near)[0] == pytest.approx(2**loss.degree * loss.value(near)[0])


@every_loss
@pytest.mark.parametrize("shape", [(3,), (2, 5), (0, 4)], ids=str)
def test_shape_is_kept(loss, shape):
    t = np.ones(shape)
    assert loss.value(t).shape == loss.weight(t).shape == shape


@every_loss
def test_input_is_not_written_to(loss):
    t = np.array([0.0, 1.0, 9.0])
    t.setflags(write=False)
    loss.value(t)
    loss.weight(t)


def test_hand_worked_values():
    t = np.array([0.0, 0.25, 9.0])
    np.testing.assert_array_equal(Squared().value(t), [0, 0.25, 9])
    np.testing.assert_array_equal(Squared().weight(t), [1, 1, 1])
    np.testing.assert_array_equal(L21().value(t), [0, 0.5, 3])
    np.testing.assert_allclose(L21().weight(t), [0, 1, 1 / 6])
    np.testing.assert_array_equal(Capped(2.0).value(t), [0, 0.5, 2])
    np.testing.assert_array_equal(Capped(2.0).weight(t), [0, 1, 0])


def test_infinite_cap_is_l21():
    t = np.concatenate([[0.0], DISTANCES**2])
    np.testing.assert_array_equal(Capped(np.inf).value(t), L21().value(t))
    np.testing.assert_array_equal(Capped(np.inf).weight(t), L21().weight(t))


@pytest.mark.parametrize("cap", [0, -1.0, np.nan])
def test_cap_must_be_positive(cap):
    with pytest.raises(ValueError, match=r"cap=.* must be larger than 0; give a distance"):
        Capped(cap).check()


@pytest.mark.parametrize("cap", ["1", None, True, [1.0]])
def test_cap_must_be_a_number(cap):
    with pytest.raises(TypeError, match=r"cap=.* is not a number; give a distance"):
        Capped(cap).check()


def test_only_bounded_losses_have_a_cutoff():
    for loss in (Squared(), L21()):
        assert not loss.bounded
        assert loss.is_resolved
        assert loss.cutoff == np.inf
        with pytest.raises(TypeError, match="is not bounded"):
            loss.with_cutoff(2.0)
    assert Capped(3.0).is_resolved
    assert not Capped().is_resolved
    assert Capped().cutoff == np.inf
    assert Capped().with_cutoff(2.0).cutoff == 2.0
