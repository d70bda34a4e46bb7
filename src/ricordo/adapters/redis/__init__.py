"""Redis or Valkey as a cache in front of histories; needs the extra ``ricordo[redis]``."""

try:
    import redis as _redis
except ImportError as error:
    raise ImportError(
        "redis is not installed; install the extra with: pip install 'ricordo[redis]'"
    ) from error

from ricordo.adapters.redis.cache import RedisHistoryCache

del _redis

__all__ = ["RedisHistoryCache"]
