// A poller of one kind written with controller-runtime, to compare with: it reads the resource of each Proxy once in an
// interval, compares two fields, and patches a condition when that changes. It has typed objects, no limit of its client
// and no metrics.
//
// Environment: KUBECONFIG, NAMESPACE and GROUP of the objects, URL of the resources, INTERVAL, AT_ONCE (reconciles).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

type ProxySpec struct {
	Listen   string `json:"listen"`
	Upstream string `json:"upstream"`
}

type ProxyStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type Proxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ProxySpec   `json:"spec"`
	Status            ProxyStatus `json:"status,omitempty"`
}

type ProxyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Proxy `json:"items"`
}

func (p *Proxy) DeepCopyObject() runtime.Object {
	c := *p
	p.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Status.Conditions = slices.Clone(p.Status.Conditions)
	return &c
}

func (l *ProxyList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = make([]Proxy, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Proxy)
	}
	return &c
}

type Poller struct {
	client.Client
	http     *http.Client
	url      string
	interval time.Duration
}

// untilNext spreads objects over the interval by a hash of their name, as a tuned poller does.
func (p *Poller) untilNext(name string) time.Duration {
	h := fnv.New64a()
	h.Write([]byte(name))
	phase := int64(h.Sum64()>>1) % int64(p.interval)
	left := p.interval - time.Duration((time.Now().UnixNano()-phase)%int64(p.interval))
	if left < p.interval/50 { // woke a little early: this poll counts for that turn
		left += p.interval
	}
	return left
}

func (p *Poller) read(ctx context.Context, name string) (got ProxySpec, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/proxies/"+name, nil)
	if err != nil {
		return got, err
	}
	res, err := p.http.Do(req)
	if err != nil {
		return got, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", res.StatusCode)
	}
	if err == nil {
		err = json.Unmarshal(body, &got)
	}
	return got, err
}

func (p *Poller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var proxy Proxy
	if err := p.Get(ctx, req.NamespacedName, &proxy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	cond := metav1.Condition{Type: "Drifted", Status: metav1.ConditionFalse, Reason: "InSync", ObservedGeneration: proxy.Generation}
	if got, err := p.read(ctx, req.Name); err != nil {
		cond.Status, cond.Reason = metav1.ConditionUnknown, "PollFailed"
	} else if got != proxy.Spec {
		cond.Status, cond.Reason = metav1.ConditionTrue, "Different"
	}
	was := meta.FindStatusCondition(proxy.Status.Conditions, cond.Type)
	if was == nil || was.Status != cond.Status || was.ObservedGeneration != cond.ObservedGeneration {
		next := proxy.DeepCopyObject().(*Proxy)
		meta.SetStatusCondition(&next.Status.Conditions, cond)
		if err := p.Status().Patch(ctx, next, client.MergeFrom(&proxy)); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	return ctrl.Result{RequeueAfter: p.untilNext(req.Name)}, nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	ctrl.SetLogger(logr.Discard())
	interval, err := time.ParseDuration(os.Getenv("INTERVAL"))
	must(err)
	atOnce, err := strconv.Atoi(os.Getenv("AT_ONCE"))
	must(err)

	scheme := runtime.NewScheme()
	gv := schema.GroupVersion{Group: os.Getenv("GROUP"), Version: "v1"}
	scheme.AddKnownTypes(gv, &Proxy{}, &ProxyList{})
	metav1.AddToGroupVersion(scheme, gv)

	cfg := ctrl.GetConfigOrDie()
	cfg.QPS = -1
	yes := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultNamespaces:            map[string]cache.Config{os.Getenv("NAMESPACE"): {}},
			DefaultTransform:             cache.TransformStripManagedFields(),
			DefaultUnsafeDisableDeepCopy: &yes, // Reconcile never writes to what it reads
		},
	})
	must(err)

	poller := &Poller{
		Client:   mgr.GetClient(),
		url:      os.Getenv("URL"),
		interval: interval,
		http: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
			MaxIdleConns: 512, MaxIdleConnsPerHost: 128, IdleConnTimeout: 5 * time.Minute, DisableCompression: true,
		}},
	}
	must(ctrl.NewControllerManagedBy(mgr).
		For(&Proxy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: atOnce}).
		Complete(poller))
	must(mgr.Start(ctrl.SetupSignalHandler()))
}
