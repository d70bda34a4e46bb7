"""Which rows were said on the dates that a question names."""

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.view import View, joined
from ricordo.model import Dates


def dated(view: View, dates: Dates) -> NDArray[np.float64]:
    """1 for what was said in the named year and month, 2 on a named day of them; else 0.

    By the calendar of UTC. Rows that are not visible are 0.
    """
    if not dates.years and not dates.months:
        return np.zeros(view.size)
    said_at = joined([loaded.said_at.values for loaded, _, _ in view.parts()], np.int64)
    moments = said_at.astype("datetime64[us]")
    months = moments.astype("datetime64[M]")
    fits = view.shown.copy()
    if dates.years:
        fits &= np.isin(months.astype("datetime64[Y]").astype(np.int64) + 1970, dates.years)
    if dates.months:
        fits &= np.isin(months.astype(np.int64) % 12 + 1, dates.months)
    scores = fits.astype(np.float64)
    if dates.days:
        days = (moments.astype("datetime64[D]") - months.astype("datetime64[D]")).astype(np.int64)
        scores += fits & np.isin(days + 1, dates.days)
    return scores
