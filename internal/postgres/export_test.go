package postgres

// Canceller is how the statements find the event that cancels that of a row n.
const Canceller = canceller

// DirectoryRelations are what the statements read of each table of the directory.
var DirectoryRelations = map[string]string{"recipient": directoryRecipient, "recipient_device": directoryDevice, "entity_member": directoryMember}
