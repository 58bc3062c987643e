package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.regex.Pattern;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.TimestampExtractor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;

/** Writes the program of a case with Topology: its steps are source, processor, store, sink and so on. */
final class ProcessorProgram {
  private ProcessorProgram() {}

  static boolean isOne(JsonNode topology) {
    for (JsonNode step : topology) if (step.path("op").asText().equals("source")) return true;
    return false;
  }

  static Topology build(JsonNode steps) {
    Topology topology = new Topology();
    for (JsonNode step : steps) add(topology, step);
    return topology;
  }

  private static void add(Topology topology, JsonNode step) {
    String name = Call.nameOf(step);
    String op = step.path("op").asText();
    String spec = step.path("with").asText();
    switch (op) {
      case "source" -> addSource(topology, name, step);
      case "processor" -> topology.addProcessor(
          name, () -> Processors.processor(spec, names(step, "stores")), names(step, "from"));
      case "store" -> topology.addStateStore(StoreBuilders.of(step), names(step, "processors"));
      case "connect" -> topology.connectProcessorAndStateStores(
          names(step, "processors")[0], names(step, "stores"));
      case "readOnlyStore" -> topology.addReadOnlyStateStore(StoreBuilders.of(step),
          step.path("source").asText(), key(step), value(step),
          Call.topicsOf(step).get(0), names(step, "processors")[0], keeper(spec, name));
      case "globalStore" -> topology.addGlobalStore(StoreBuilders.of(step),
          step.path("source").asText(), key(step), value(step),
          Call.topicsOf(step).get(0), names(step, "processors")[0], keeper(spec, name));
      case "sink" -> addSink(topology, name, step);
      default -> throw new InvalidCase(op + " does not go with source, processor, store and sink");
    }
  }

  private static void addSource(Topology topology, String name, JsonNode step) {
    AutoOffsetReset reset = AutoOffsetReset.earliest();
    TimestampExtractor time = step.has("timestamp") ? Call.extractor(step) : null;
    if (step.has("pattern")) {
      Pattern pattern = Pattern.compile(step.get("pattern").asText());
      topology.addSource(reset, name, time, key(step), value(step), pattern);
      return;
    }
    topology.addSource(reset, name, time, key(step), value(step),
        Call.topicsOf(step).toArray(new String[0]));
  }

  private static void addSink(Topology topology, String name, JsonNode step) {
    Serializer<Object> key = Formats.serde(step, "key").serializer();
    Serializer<Object> value = Formats.serde(step, "value").serializer();
    if (step.has("with")) {
      var chooser = new RouteOps.Chooser(Library.function(step.get("with").asText()));
      topology.addSink(name, chooser, key, value, names(step, "from"));
      return;
    }
    topology.addSink(name, Call.topicsOf(step).get(0), key, value, names(step, "from"));
  }

  private static Deserializer<Object> key(JsonNode step) {
    return Formats.serde(step, "key").deserializer();
  }

  private static Deserializer<Object> value(JsonNode step) {
    return Formats.serde(step, "value").deserializer();
  }

  private static String[] names(JsonNode step, String field) {
    return Call.texts(step.path(field)).toArray(new String[0]);
  }

  /** Its store is the one that it is for; it forwards nothing. */
  @SuppressWarnings("unchecked")
  private static ProcessorSupplier<Object, Object, Void, Void> keeper(String spec, String store) {
    return () -> {
      var processor = (Processor<?, ?, ?, ?>) Processors.processor(spec, new String[] {store});
      return (Processor<Object, Object, Void, Void>) processor;
    };
  }
}
