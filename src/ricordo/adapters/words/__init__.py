"""Words: how texts and questions are split so that they meet."""

from ricordo.adapters.words.analyzer import SnowballAnalyzer

__all__ = ["SnowballAnalyzer"]
