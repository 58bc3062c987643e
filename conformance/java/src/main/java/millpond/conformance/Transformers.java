package millpond.conformance;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.streams.kstream.ValueTransformerWithKey;
import org.apache.kafka.streams.processor.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * The transformers of values that cases name; test/conformance/transformers.ts has the same ones. A new
 * one for each task and each step that looks rows up.
 */
final class Transformers implements ValueTransformerWithKey<Object, Object, Object> {
  private final String name;
  private final List<String> stores;
  private ProcessorContext context;

  Transformers(String name, List<String> stores) {
    this.name = name;
    this.stores = stores;
  }

  static void check(String name) {
    if (!List.of("value-and-time", "never-gone", "headers", "origin", "calls").contains(name)) {
      throw new InvalidCase("there is no transformer " + name);
    }
  }

  @Override public void init(ProcessorContext given) {
    context = given;
    // As one does: a store that is not connected is missed at once.
    for (String store : stores) context.getStateStore(store);
  }

  @Override public Object transform(Object key, Object value) {
    String text = Library.text(value);
    return switch (name) {
      case "value-and-time" -> value == null ? null : text + "@" + context.timestamp();
      case "never-gone" -> Library.text(key) + ":" + text + "@" + context.timestamp();
      case "headers" -> value == null ? null : text + "[" + headers() + "]";
      case "origin" -> value == null ? null : text + " of " + context.topic() + " " + context.offset();
      default -> {
        KeyValueStore<String, Long> counts = context.getStateStore(stores.get(0));
        Long before = counts.get(Library.text(key));
        long calls = (before == null ? 0 : before) + 1;
        counts.put(Library.text(key), calls);
        yield value == null ? null : text + "#" + calls;
      }
    };
  }

  private String headers() {
    return StreamSupport.stream(context.headers().spliterator(), false)
        .map(Header::key)
        .collect(Collectors.joining(","));
  }

  @Override public void close() {}
}
