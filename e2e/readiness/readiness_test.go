package readiness

import (
	"os"
	"regexp"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// stage is an object as the poller writes it, and what the tools must make of it.
type stage struct {
	Name    string                 `json:"name"`
	Kstatus string                 `json:"kstatus"`
	Argo    string                 `json:"argo"`
	Object  map[string]interface{} `json:"object"`
}

func stages(t *testing.T) []stage {
	text, err := os.ReadFile("stages.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []stage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("stages.json is empty")
	}
	return all
}

func TestKstatusFollowsTheStages(t *testing.T) {
	for _, stage := range stages(t) {
		result, err := status.Compute(&unstructured.Unstructured{Object: stage.Object})
		if err != nil {
			t.Fatalf("%s: %v", stage.Name, err)
		}
		if string(result.Status) != stage.Kstatus {
			t.Errorf("%s: %s (%s), expected %s", stage.Name, result.Status, result.Message, stage.Kstatus)
		}
	}
}

// The guide's script for kinds with `ready: true`.
func script(t *testing.T) string {
	guide, err := os.ReadFile("../../docs/guides/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)resource.customizations.health.net.example_DnsRecord: \|\n(.*?)` + "```").FindSubmatch(guide)
	if found == nil {
		t.Fatal("the guide has no health script")
	}
	return string(found[1])
}

func TestTheHealthScriptFollowsTheStages(t *testing.T) {
	script := script(t)
	for _, stage := range stages(t) {
		if health := evaluate(t, script, stage.Object); health != stage.Argo {
			t.Errorf("%s: %s, expected %s", stage.Name, health, stage.Argo)
		}
	}
}

func evaluate(t *testing.T, script string, object map[string]interface{}) string {
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(strings.TrimSpace(script)); err != nil {
		t.Fatal(err)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatal("the script returns no table")
	}
	return result.RawGetString("status").String()
}

func value(state *lua.LState, from interface{}) lua.LValue {
	switch from := from.(type) {
	case map[string]interface{}:
		table := state.NewTable()
		for key, below := range from {
			table.RawSetString(key, value(state, below))
		}
		return table
	case []interface{}:
		table := state.NewTable()
		for _, below := range from {
			table.Append(value(state, below))
		}
		return table
	case string:
		return lua.LString(from)
	case int64:
		return lua.LNumber(from)
	case bool:
		return lua.LBool(from)
	default:
		return lua.LNil
	}
}
