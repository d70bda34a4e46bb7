"""Tokens as RFC 7519 has them; needs the extra ``ricordo[nats]``."""

try:
    import jwt as _jwt
except ImportError as error:
    raise ImportError(
        "PyJWT is not installed; install the extra with: pip install 'ricordo[nats]'"
    ) from error

from ricordo.adapters.jwt.keys import Keys, KeySet, OneKey
from ricordo.adapters.jwt.verifying import Claims, JwtVerifier

del _jwt

__all__ = ["Claims", "JwtVerifier", "KeySet", "Keys", "OneKey"]
