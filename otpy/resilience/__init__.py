"""What a program needs to live with services that fail: circuit breakers, retries, retry budgets."""

from __future__ import annotations

from otpy.resilience.breaker import Breaker
from otpy.resilience.budget import RetryBudget
from otpy.resilience.errors import BreakerOpenError, RetryError
from otpy.resilience.permit import Permit
from otpy.resilience.retrying import RetryPlan, retry

__all__ = ["Breaker", "BreakerOpenError", "Permit", "RetryBudget", "RetryError", "RetryPlan", "retry"]
