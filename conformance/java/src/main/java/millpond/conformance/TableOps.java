package millpond.conformance;

import java.util.Map;

/** Tables. */
final class TableOps {
  static void addTo(Map<String, Call.Op> ops) {
    ops.put("builder.table", call -> call.has("store")
        ? call.builder().table(call.topics().get(0), call.consumed(), call.store())
        : call.builder().table(call.topics().get(0), call.consumed()));
    ops.put("table.filter", call -> call.has("store")
        ? call.table().filter((k, v) -> call.with().test(v, k), call.named(), call.store())
        : call.table().filter((k, v) -> call.with().test(v, k), call.named()));
    ops.put("table.filterNot", call -> call.has("store")
        ? call.table().filterNot((k, v) -> call.with().test(v, k), call.named(), call.store())
        : call.table().filterNot((k, v) -> call.with().test(v, k), call.named()));
    ops.put("table.mapValues", call -> call.has("store")
        ? call.table().mapValues((k, v) -> call.with().apply(v, k), call.named(), call.store())
        : call.table().mapValues((k, v) -> call.with().apply(v, k), call.named()));
    ops.put("table.toStream", call -> call.table().toStream(call.named()));
  }
}
