"""What a program needs to live with services that fail: breakers, retries, an outbox, configuration."""

from __future__ import annotations

from otpy.resilience.autonomy.handle import Autonomy
from otpy.resilience.autonomy.line import AutonomyLook
from otpy.resilience.breaker import Breaker
from otpy.resilience.budget import RetryBudget
from otpy.resilience.configuration.document import Document
from otpy.resilience.configuration.handle import Configuration
from otpy.resilience.configuration.plan import ConfigurationLook
from otpy.resilience.errors import (
    BatchError,
    BreakerOpenError,
    ConfigurationError,
    ConfigurationFileError,
    LaterError,
    NoConfigurationError,
    NoSuchTopicError,
    OutboxError,
    OutboxFileError,
    OutboxFullError,
    PayloadError,
    RetryError,
)
from otpy.resilience.outbox.batch import Batch, Receipt, Row
from otpy.resilience.outbox.books import OutboxLook
from otpy.resilience.outbox.handle import Outbox
from otpy.resilience.outbox.received import received
from otpy.resilience.outbox.sender import Sender
from otpy.resilience.outbox.topic import Topic
from otpy.resilience.permit import Permit
from otpy.resilience.retrying import RetryPlan, retry
from otpy.resilience.turns import Turns

__all__ = [
    "Autonomy",
    "AutonomyLook",
    "Batch",
    "BatchError",
    "Breaker",
    "BreakerOpenError",
    "Configuration",
    "ConfigurationError",
    "ConfigurationFileError",
    "ConfigurationLook",
    "Document",
    "LaterError",
    "NoConfigurationError",
    "NoSuchTopicError",
    "Outbox",
    "OutboxError",
    "OutboxFileError",
    "OutboxFullError",
    "OutboxLook",
    "PayloadError",
    "Permit",
    "Receipt",
    "RetryBudget",
    "RetryError",
    "RetryPlan",
    "Row",
    "Sender",
    "Topic",
    "Turns",
    "received",
    "retry",
]
