package postgres

// Canceller is how the statements find the event that cancels that of a row n.
const Canceller = canceller
