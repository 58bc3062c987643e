package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.regex.Pattern;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorSupplier;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.state.StoreBuilder;

/** Processors of one's own among the steps of StreamsBuilder, and sources by pattern. */
final class ProcessorOps {
  /** One builder for all steps that name its store, as one descriptor is one store. */
  private static final Map<StreamsBuilder, Map<String, StoreBuilder<?>>> BUILDERS = new WeakHashMap<>();

  private ProcessorOps() {}

  static void addTo(Map<String, Call.Op> ops) {
    ops.put("builder.streamPattern", call -> call.builder().stream(
        Pattern.compile(call.step().get("pattern").asText()), call.consumed()));
    ops.put("builder.addStateStore", call -> call.builder().addStateStore(builder(call, call.step())));
    ops.put("stream.process", call -> {
      Uses uses = uses(call);
      ProcessorSupplier<Object, Object, Object, Object> supplier = new ProcessorSupplier<>() {
        @Override public Processor<Object, Object, Object, Object> get() {
          return Processors.processor(spec(call), uses.names());
        }

        @Override public Set<StoreBuilder<?>> stores() {
          return uses.own;
        }
      };
      KStream<Object, Object> stream = call.stream();
      return call.has("name")
          ? stream.process(supplier, call.named(), uses.connected())
          : stream.process(supplier, uses.connected());
    });
    ops.put("stream.processValues", call -> {
      Uses uses = uses(call);
      FixedKeyProcessorSupplier<Object, Object, Object> supplier = new FixedKeyProcessorSupplier<>() {
        @Override public FixedKeyProcessor<Object, Object, Object> get() {
          return Processors.fixedKeyProcessor(spec(call), uses.names());
        }

        @Override public Set<StoreBuilder<?>> stores() {
          return uses.own;
        }
      };
      KStream<Object, Object> stream = call.stream();
      return call.has("name")
          ? stream.processValues(supplier, call.named(), uses.connected())
          : stream.processValues(supplier, uses.connected());
    });
  }

  private static String spec(Call call) {
    return call.step().path("processor").asText();
  }

  /** Stores of a step: of its own, and those of tables or of addStateStore, by name. */
  private record Uses(Set<StoreBuilder<?>> own, List<String> others, List<String> all) {
    String[] names() {
      return all.toArray(new String[0]);
    }

    String[] connected() {
      return others.toArray(new String[0]);
    }
  }

  private static Uses uses(Call call) {
    Uses uses = new Uses(new HashSet<>(), new ArrayList<>(), new ArrayList<>());
    for (JsonNode spec : call.step().path("uses")) {
      if (spec.has("table")) uses.others.add(spec.get("table").asText());
      else uses.own.add(builder(call, spec));
      uses.all.add(spec.has("table") ? spec.get("table").asText() : Call.nameOf(spec));
    }
    return uses;
  }

  private static StoreBuilder<?> builder(Call call, JsonNode spec) {
    return BUILDERS.computeIfAbsent(call.builder(), builder -> new HashMap<>())
        .computeIfAbsent(Call.nameOf(spec), name -> StoreBuilders.of(spec));
  }
}
