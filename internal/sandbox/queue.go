package sandbox

import "time"

// queue is a heap of receipts, the one that is due first at its root.
type queue []receipt

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push and Pop are called by container/heap alone.
func (q *queue) Push(r any) { *q = append(*q, r.(receipt)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last] = receipt{} // so that it can be freed
	*q = (*q)[:last]
	return r
}

// due is when the first is due; of an empty queue, in an hour.
func (q queue) due() time.Time {
	if len(q) == 0 {
		return time.Now().Add(time.Hour)
	}
	return q[0].due
}
