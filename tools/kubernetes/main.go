// Command kubernetes renders folders of manifests with kustomize. It checks that Kubernetes knows each kind
// of object, and that no object has unknown or repeated fields.
package main

import (
	"errors"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: kubernetes FOLDER ...")
		os.Exit(2)
	}
	var all []error
	for _, folder := range os.Args[1:] {
		all = append(all, check(folder))
	}
	if err := errors.Join(all...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check prints a folder's manifests, and returns their mistakes.
func check(folder string) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	var all []error
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		fmt.Printf("---\n%s", text)
		if _, _, err := decoder.Decode(text, nil, nil); err != nil {
			all = append(all, fmt.Errorf("%s: %s %s: %w", folder, resource.GetKind(), resource.GetName(), err))
		}
	}
	return errors.Join(all...)
}
