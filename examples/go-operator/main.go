// An operator that learns from drift-poller that its external system changed behind its back.
//
// It corrects by itself, so its target has `mode: Observe` and drift-controller leaves its objects alone.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

// logged stands in for an object store.
type logged struct{}

func (logged) SetQuota(_ context.Context, bucket string, bytes int64) error {
	slog.Info("quota set", "bucket", bucket, "bytes", bytes)
	return nil
}

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.Default().Handler()))
	if err := run(); err != nil {
		slog.Error("the operator ends", "error", err)
		os.Exit(1)
	}
}

func run() error {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	reconciler := &Reconciler{Client: manager.GetClient(), Store: logged{}, Now: time.Now}
	if err := reconciler.SetupWithManager(manager); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
