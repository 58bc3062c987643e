package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.ErrorHandlerContext;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.errors.ProductionExceptionHandler;
import org.apache.kafka.streams.errors.internals.ExceptionHandlerUtils;

/** What fails on purpose, and who is asked about it. */
final class Failing {
  private static final String DEAD_LETTER_PREFIX = "__streams.errors.";

  private Failing() {}

  /** Sets the handlers that a case names. */
  static void configure(Properties config, JsonNode options) {
    if (continues(options, "onDeserializationError")) {
      config.put(
          StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG,
          LogAndContinueExceptionHandler.class);
    }
    if (continues(options, "onProcessingError")) {
      config.put(
          StreamsConfig.PROCESSING_EXCEPTION_HANDLER_CLASS_CONFIG,
          LogAndContinueProcessingExceptionHandler.class);
      config.put(StreamsConfig.PROCESSING_EXCEPTION_HANDLER_GLOBAL_ENABLED_CONFIG, true);
    }
    if (continues(options, "onProductionError")) {
      config.put(StreamsConfig.PRODUCTION_EXCEPTION_HANDLER_CLASS_CONFIG, ContinueProducing.class);
    }
    if (options.has("deadLetterQueueTopic")) {
      config.put(
          StreamsConfig.ERRORS_DEAD_LETTER_QUEUE_TOPIC_NAME_CONFIG,
          options.get("deadLetterQueueTopic").asText());
    }
  }

  private static boolean continues(JsonNode options, String handler) {
    return options.path(handler).asText().equals("continue");
  }

  /** Strings, but it neither reads nor writes those that begin with a text. */
  static Serde<String> picky(String refused) {
    Serde<String> strings = Serdes.String();
    return Serdes.serdeFrom(
        (topic, text) -> strings.serializer().serialize(topic, checked(refused, text)),
        (topic, bytes) -> checked(refused, strings.deserializer().deserialize(topic, bytes)));
  }

  private static String checked(String refused, String text) {
    if (text == null || !text.startsWith(refused)) return text;
    throw new IllegalArgumentException("the serde refuses " + text);
  }

  /**
   * How a header is compared: each language has its own names and messages of errors, and its own traces.
   * The messages of what fails on purpose are the same.
   */
  static String shown(Header header) {
    String name = header.key();
    if (header.value() == null) return name;
    if (name.equals(DEAD_LETTER_PREFIX + "exception") || name.equals(DEAD_LETTER_PREFIX + "stacktrace")) {
      return name + "=*";
    }
    String hex = Formats.hex(header.value());
    boolean isOwnMessage = hex.startsWith(Formats.hex(Formats.utf8("failed ")));
    return name.equals(DEAD_LETTER_PREFIX + "message") && !isOwnMessage ? name + "=*" : name + "=" + hex;
  }

  /** Kafka Streams has a handler that fails and none that goes on. */
  public static final class ContinueProducing implements ProductionExceptionHandler {
    private String deadLetterQueueTopic;

    @Override public void configure(Map<String, ?> configs) {
      Object topic = configs.get(StreamsConfig.ERRORS_DEAD_LETTER_QUEUE_TOPIC_NAME_CONFIG);
      if (topic != null) deadLetterQueueTopic = topic.toString();
    }

    @Override public Response handleError(
        ErrorHandlerContext context, ProducerRecord<byte[], byte[]> record, Exception exception) {
      return Response.resume(letters(context, exception));
    }

    @Override public Response handleSerializationError(
        ErrorHandlerContext context,
        @SuppressWarnings("rawtypes") ProducerRecord record,
        Exception exception,
        SerializationExceptionOrigin origin) {
      return Response.resume(letters(context, exception));
    }

    private List<ProducerRecord<byte[], byte[]>> letters(ErrorHandlerContext context, Exception exception) {
      return ExceptionHandlerUtils.maybeBuildDeadLetterQueueRecords(
          deadLetterQueueTopic, context.sourceRawKey(), context.sourceRawValue(), context, exception);
    }
  }
}
