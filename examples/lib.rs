//! Programs, one a task.
