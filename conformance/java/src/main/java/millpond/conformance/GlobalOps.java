package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.KeyValueMapper;
import org.apache.kafka.streams.kstream.ValueJoinerWithStreamAndMappedKey;
import org.apache.kafka.streams.processor.api.Processor;

/** Tables that every instance holds whole, and joins with them. */
final class GlobalOps {
  static void addTo(Map<String, Call.Op> ops) {
    ops.put("builder.globalTable", call -> call.has("store")
        ? call.builder().globalTable(call.topics().get(0), call.consumed(), call.store())
        : call.builder().globalTable(call.topics().get(0), call.consumed()));
    ops.put("builder.addGlobalStore", call -> {
      JsonNode store = call.step().path("uses").path(0);
      String processor = call.step().path("processor").asText();
      call.builder().addGlobalStore(StoreBuilders.of(store), call.topics().get(0), call.consumed(),
          () -> processor(processor, Call.nameOf(store)));
      return null;
    });
    ops.put("stream.joinGlobalTable",
        call -> call.stream().join(table(call), lookup(call), joiner(call), call.named()));
    ops.put("stream.leftJoinGlobalTable",
        call -> call.stream().leftJoin(table(call), lookup(call), joiner(call), call.named()));
  }

  /** It forwards nothing. */
  @SuppressWarnings("unchecked")
  private static Processor<Object, Object, Void, Void> processor(String spec, String store) {
    Processor<?, ?, ?, ?> processor = Processors.processor(spec, new String[] {store});
    return (Processor<Object, Object, Void, Void>) processor;
  }

  private static GlobalKTable<Object, Object> table(Call call) {
    return call.input(1);
  }

  private static KeyValueMapper<Object, Object, Object> lookup(Call call) {
    Library.Function lookup = call.with(1);
    return (key, value) -> lookup.apply(value, key);
  }

  /** The joiner sees both keys as one. */
  private static ValueJoinerWithStreamAndMappedKey<Object, Object, Object, Object, Object> joiner(
      Call call) {
    Library.Joiner joiner = call.joiner(0);
    return (key, lookupKey, value, row) -> joiner.apply(value, row, Arrays.asList(key, lookupKey));
  }
}
