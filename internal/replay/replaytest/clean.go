package replaytest

import (
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// dropped are the fields of histories that a replay does not read. Some name the machine, its
// processes or its files.
var dropped = map[protoreflect.Name]bool{
	"binary_checksum": true, "build_id_redirect_counter": true, "deployment": true, "deployment_version": true, "encoded_attributes": true,
	"history_size_bytes": true, "identity": true, "inherited_auto_upgrade_info": true, "links": true, "metering_metadata": true,
	"namespace_id": true, "parent_workflow_namespace_id": true, "prev_auto_reset_points": true, "principal": true, "request_id": true,
	"sdk_name": true, "sdk_version": true, "source_version_stamp": true, "stack_trace": true, "task_id": true, "user_metadata": true,
	"version": true, "versioning_behavior": true, "worker_deployment_name": true, "worker_deployment_version": true, "worker_version": true,
}

// clean returns a copy of a history without what a replay does not need. Sticky task queues, whose
// names hold the host's name, become the queues that they stand for.
func clean(events []*historypb.HistoryEvent) []*historypb.HistoryEvent {
	cleaned := make([]*historypb.HistoryEvent, len(events))
	for i, event := range events {
		cleaned[i] = proto.CloneOf(event)
		cleanMessage(cleaned[i].ProtoReflect())
	}
	return cleaned
}

func cleanMessage(message protoreflect.Message) {
	if queue, ok := message.Interface().(*taskqueuepb.TaskQueue); ok && queue.GetKind() == enums.TASK_QUEUE_KIND_STICKY {
		queue.Name, queue.NormalName, queue.Kind = queue.GetNormalName(), "", enums.TASK_QUEUE_KIND_NORMAL
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case dropped[field.Name()]:
			message.Clear(field)
		case field.Name() == "cause" && field.Kind() == protoreflect.StringKind: // names who ordered a cancellation
			message.Clear(field)
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(_ protoreflect.MapKey, each protoreflect.Value) bool {
					cleanMessage(each.Message())
					return true
				})
			}
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				cleanMessage(value.List().Get(i).Message())
			}
		default:
			cleanMessage(value.Message())
			if header, ok := value.Message().Interface().(*commonpb.Header); ok && len(header.GetFields()) == 0 {
				message.Clear(field)
			}
		}
		return true
	})
}
