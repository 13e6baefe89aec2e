package compat

// Task is a job as the servers show it.
type Task = task
