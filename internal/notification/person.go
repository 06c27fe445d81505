package notification

// Person is a recipient by name.
type Person struct {
	UserType UserType `json:"user_type"`
	UserID   string   `json:"user_id"`
	Name     string   `json:"name"`
}
