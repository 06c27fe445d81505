package postgres

// Canceller is the expression for the event that cancels the event of a row n.
const Canceller = canceller

// DirectoryRelations holds the expression by which statements read each table of the
// directory.
var DirectoryRelations = map[string]string{"recipient": directoryRecipient, "recipient_device": directoryDevice, "entity_member": directoryMember}
