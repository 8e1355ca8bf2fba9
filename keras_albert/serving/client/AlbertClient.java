import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;

/**
 * Asks a text classifier that TensorFlow Serving serves, over its REST API.
 *
 * <p>One file for Java 17 and later that needs no library. Copy it into a
 * program, or run it as it is:
 *
 * <pre>
 * java AlbertClient.java --url http://127.0.0.1:8501 --model reviews &lt; lines.txt
 * </pre>
 *
 * <p>In a program:
 *
 * <pre>
 * var client = new AlbertClient("http://127.0.0.1:8501", "reviews");
 * for (var answer : client.classify(List.of("a fine film", "very dull"))) {
 *     System.out.println(answer.label() + " " + answer.probability());
 * }
 * </pre>
 *
 * <p>A client may be used by many threads and should be kept: it keeps its
 * connections open.
 */
public final class AlbertClient {

    /**
     * The class of one text.
     *
     * @param label the name of the likeliest class
     * @param probabilities one number per class, in the model's order
     */
    public record Answer(String label, List<Double> probabilities) {

        /** The probability of the label, which is the highest of them. */
        public double probability() {
            return probabilities.stream().mapToDouble(p -> p).max().orElse(0);
        }
    }

    /** A request that was not answered; its message says why. */
    public static final class ServingException extends RuntimeException {
        private static final long serialVersionUID = 1L;
        private final int status;

        ServingException(int status, String message, Throwable cause) {
            super(message, cause);
            this.status = status;
        }

        /** The HTTP status, or 0 where no whole answer came. */
        public int status() {
            return status;
        }
    }

    /** What may be chosen; every method returns the same object. */
    public static final class Options {
        private Long version;
        private String label;
        private Duration deadline = Duration.ofSeconds(30);
        private Duration connectTimeout = Duration.ofSeconds(5);
        private int batchSize = 32;
        private int tries = 5;
        private Duration firstWait = Duration.ofMillis(100);
        private final Map<String, String> headers = new LinkedHashMap<>();

        /** Asks this version; without it, the newest that is loaded. */
        public Options version(long value) {
            version = value;
            return this;
        }

        /** Asks the version with this label, such as {@code stable}. */
        public Options label(String value) {
            label = value;
            return this;
        }

        /** How long a call may take, with all its requests and waits. */
        public Options deadline(Duration value) {
            deadline = positive("deadline", value);
            return this;
        }

        /** How long a new connection may take. */
        public Options connectTimeout(Duration value) {
            connectTimeout = positive("connectTimeout", value);
            return this;
        }

        /** How many texts a request holds at most; long lists are split. */
        public Options batchSize(int value) {
            batchSize = positive("batchSize", value);
            return this;
        }

        /** How often a request is sent at most; 1 for no second try. */
        public Options tries(int value) {
            tries = positive("tries", value);
            return this;
        }

        /** The longest wait before the second try; doubles with each. */
        public Options firstWait(Duration value) {
            firstWait = positive("firstWait", value);
            return this;
        }

        /** Sent with each request, such as {@code Authorization}. */
        public Options header(String name, String value) {
            headers.put(name, value);
            return this;
        }

        private static Duration positive(String name, Duration value) {
            return checked(
                name, value, !value.isZero() && !value.isNegative());
        }

        private static int positive(String name, int value) {
            return checked(name, value, value > 0);
        }

        private static <T> T checked(String name, T value, boolean isFine) {
            if (!isFine) {
                throw new IllegalArgumentException(
                    name + " must be greater than 0. Received: " + value);
            }
            return value;
        }
    }

    private static final String SIGNATURE = "serving_default";
    private static final long LONGEST_WAIT_NANOS = 5_000_000_000L;

    private final URI address;
    private final Duration deadline;
    private final int batchSize;
    private final int tries;
    private final long firstWaitNanos;
    private final Map<String, String> headers;
    private final HttpClient http;

    /**
     * A client for the newest version of a model.
     *
     * @param url where the server is, such as {@code http://127.0.0.1:8501}
     * @param model the model's name
     */
    public AlbertClient(String url, String model) {
        this(url, model, new Options());
    }

    /**
     * A client with options of its own.
     *
     * @param url where the server is, such as {@code http://127.0.0.1:8501}
     * @param model the model's name
     * @param options what differs from the defaults
     * @throws IllegalArgumentException if an argument cannot be used
     */
    public AlbertClient(String url, String model, Options options) {
        if (!url.matches("(?i)https?://[^/].*")) {
            throw new IllegalArgumentException(
                "The URL must start with http:// or https://, such as "
                + "http://127.0.0.1:8501. Received: " + url);
        }
        if (model.isEmpty()) {
            throw new IllegalArgumentException("The model's name is empty.");
        }
        if (options.version != null && options.label != null) {
            throw new IllegalArgumentException(
                "Give a version or a label, not both. Received: version "
                + options.version + ", label " + options.label);
        }
        String path = "/v1/models/" + escaped(model);
        if (options.version != null) {
            path += "/versions/" + options.version;
        } else if (options.label != null) {
            path += "/labels/" + escaped(options.label);
        }
        address = URI.create(url.replaceAll("/+$", "") + path + ":predict");
        deadline = options.deadline;
        batchSize = options.batchSize;
        tries = options.tries;
        firstWaitNanos = options.firstWait.toNanos();
        headers = Map.copyOf(options.headers);
        http = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(options.connectTimeout)
            .build();
    }

    private static String escaped(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8)
            .replace("+", "%20");
    }

    /**
     * Finds the class of each text.
     *
     * <p>Long lists are sent in several requests, one after the other. What
     * may pass (no connection, status 503 or 429) is tried again with growing
     * waits; any other error ends the call.
     *
     * @param texts the texts; half of a surrogate pair counts as U+FFFD
     * @return one answer per text, in the same order
     * @throws ServingException if not all texts were answered in time
     */
    public List<Answer> classify(List<String> texts) {
        for (int i = 0; i < texts.size(); i++) {
            if (texts.get(i) == null) {
                throw new IllegalArgumentException("Text " + i + " is null.");
            }
        }
        long ends = System.nanoTime() + deadline.toNanos();
        List<Answer> answers = new ArrayList<>(texts.size());
        for (int i = 0; i < texts.size(); i += batchSize) {
            int end = Math.min(i + batchSize, texts.size());
            answers.addAll(ask(texts.subList(i, end), ends));
        }
        return answers;
    }

    private List<Answer> ask(List<String> texts, long ends) {
        List<Object> instances = new ArrayList<>();
        for (String text : texts) {
            instances.add(Map.of("text", text));
        }
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("signature_name", SIGNATURE);
        body.put("instances", instances);
        String reply = send(Json.write(body), ends);
        List<?> rows;
        try {
            rows = (List<?>) ((Map<?, ?>) Json.read(reply)).get("predictions");
        } catch (IllegalArgumentException | ClassCastException error) {
            throw unexpected(reply, error);
        }
        if (rows == null || rows.size() != texts.size()) {
            throw unexpected(reply, null);
        }
        List<Answer> answers = new ArrayList<>();
        for (Object row : rows) {
            answers.add(answer(row, reply));
        }
        return answers;
    }

    private Answer answer(Object row, String reply) {
        try {
            Map<?, ?> outputs = (Map<?, ?>) row;
            List<Double> probabilities = new ArrayList<>();
            for (Object value : (List<?>) outputs.get("probabilities")) {
                probabilities.add((Double) value);
            }
            String label = (String) outputs.get("label");
            if (label == null) {
                throw unexpected(reply, null);
            }
            return new Answer(label, List.copyOf(probabilities));
        } catch (ClassCastException | NullPointerException error) {
            throw unexpected(reply, error);
        }
    }

    private ServingException unexpected(String reply, Exception cause) {
        return new ServingException(
            200,
            address + " did not answer each text with `label` and "
            + "`probabilities`; is the model a classifier? Received: "
            + shortened(reply),
            cause);
    }

    private String send(String body, long ends) {
        for (int number = 1; ; number++) {
            ServingException failure;
            long asked = 0;
            try {
                HttpResponse<String> reply = exchange(body, ends);
                int status = reply.statusCode();
                if (status == 200) {
                    return reply.body();
                }
                failure = new ServingException(
                    status,
                    "HTTP " + status + " from " + address + ": "
                    + serverMessage(reply.body()),
                    null);
                if (status != 503 && status != 429) {
                    throw failure;
                }
                asked = retryAfterNanos(reply);
            } catch (IOException error) {
                failure = new ServingException(
                    0, "No connection to " + address + ": " + cause(error),
                    error);
                if (error instanceof SSLException) {
                    throw failure; // its certificate will not change
                }
            }
            long most = Math.min(
                firstWaitNanos << Math.min(number - 1, 20),
                LONGEST_WAIT_NANOS);
            // Drawn by chance: clients that failed together must not come
            // back together.
            long wait = Math.max(
                asked, ThreadLocalRandom.current().nextLong(most + 1));
            boolean isLast = number >= tries
                || ends - System.nanoTime() <= wait;
            if (isLast) {
                throw new ServingException(
                    failure.status(),
                    failure.getMessage() + " (try " + number + ")",
                    failure.getCause());
            }
            try {
                TimeUnit.NANOSECONDS.sleep(wait);
            } catch (InterruptedException error) {
                throw interrupted(error);
            }
        }
    }

    /** One request; the time limit holds for the whole answer. */
    private HttpResponse<String> exchange(String body, long ends)
            throws IOException {
        long left = ends - System.nanoTime();
        if (left <= 0) {
            throw late(null);
        }
        HttpRequest.Builder request = HttpRequest.newBuilder(address)
            .header("Content-Type", "application/json; charset=utf-8")
            .POST(HttpRequest.BodyPublishers.ofString(
                body, StandardCharsets.UTF_8));
        headers.forEach(request::setHeader);
        CompletableFuture<HttpResponse<String>> future = http.sendAsync(
            request.build(),
            HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
        try {
            return future.get(left, TimeUnit.NANOSECONDS);
        } catch (TimeoutException error) {
            future.cancel(true);
            throw late(error);
        } catch (InterruptedException error) {
            future.cancel(true);
            throw interrupted(error);
        } catch (ExecutionException error) {
            if (error.getCause() instanceof IOException cause) {
                throw cause;
            }
            throw new ServingException(
                0, address + " cannot be asked: " + error.getCause(), error);
        }
    }

    private ServingException late(Exception cause) {
        return new ServingException(
            0,
            "No answer from " + address + " within the deadline of "
            + deadline.toMillis() / 1000.0 + " seconds.",
            cause);
    }

    private ServingException interrupted(InterruptedException error) {
        Thread.currentThread().interrupt();
        return new ServingException(
            0, "Interrupted while asking " + address, error);
    }

    /** The reason; an error of Java's for a closed port has no words. */
    private static String cause(Throwable error) {
        String message = error.getMessage();
        String name = error.getClass().getSimpleName();
        return message == null ? name : name + ": " + message;
    }

    private static String serverMessage(String body) {
        try {
            if (Json.read(body) instanceof Map<?, ?> fields
                    && fields.get("error") instanceof String message) {
                return message;
            }
        } catch (IllegalArgumentException error) {
            // A proxy's page, say: shown as it came.
        }
        return body.isBlank() ? "(no message)" : shortened(body);
    }

    private static String shortened(String text) {
        String line = text.strip();
        return line.length() <= 500 ? line : line.substring(0, 500) + "...";
    }

    private static long retryAfterNanos(HttpResponse<?> reply) {
        try {
            String seconds = reply.headers().firstValue("Retry-After")
                .orElse("0").strip();
            return TimeUnit.SECONDS.toNanos(
                Math.max(0, Long.parseLong(seconds)));
        } catch (NumberFormatException error) {
            return 0; // a date, which no server of this kind sends
        }
    }

    /** JSON as maps, lists, strings, doubles, booleans and null. */
    static final class Json {
        private static final int DEEPEST = 100;
        private final String text;
        private int at;
        private int depth;

        private Json(String text) {
            this.text = text;
        }

        static Object read(String text) {
            Json json = new Json(text);
            Object value = json.value();
            json.space();
            if (json.at < text.length()) {
                throw json.wrong("the end");
            }
            return value;
        }

        static String write(Object value) {
            StringBuilder out = new StringBuilder();
            write(value, out);
            return out.toString();
        }

        private static void write(Object value, StringBuilder out) {
            if (value instanceof Map<?, ?> map) {
                String between = "{";
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    out.append(between);
                    writeString((String) entry.getKey(), out);
                    out.append(':');
                    write(entry.getValue(), out);
                    between = ",";
                }
                out.append(map.isEmpty() ? "{}" : "}");
            } else if (value instanceof List<?> list) {
                String between = "[";
                for (Object item : list) {
                    out.append(between);
                    write(item, out);
                    between = ",";
                }
                out.append(list.isEmpty() ? "[]" : "]");
            } else if (value instanceof String string) {
                writeString(string, out);
            } else {
                out.append(value); // numbers, true, false, null
            }
        }

        private static void writeString(String string, StringBuilder out) {
            out.append('"');
            string.codePoints().forEach(point -> {
                if (point == '"' || point == '\\') {
                    out.append('\\').append((char) point);
                } else if (point < 0x20) {
                    out.append(String.format("\\u%04x", point));
                } else if (point >= 0xD800 && point <= 0xDFFF) {
                    out.append('\uFFFD'); // half a pair has no UTF-8
                } else {
                    out.appendCodePoint(point);
                }
            });
            out.append('"');
        }

        private Object value() {
            space();
            char next = at < text.length() ? text.charAt(at) : 0;
            return switch (next) {
                case '{' -> object();
                case '[' -> array();
                case '"' -> string();
                case 't' -> word("true", true);
                case 'f' -> word("false", false);
                case 'n' -> word("null", null);
                // What TensorFlow Serving writes for floats without value.
                case 'N' -> word("NaN", Double.NaN);
                case 'I' -> word("Infinity", Double.POSITIVE_INFINITY);
                default -> number();
            };
        }

        private Map<String, Object> object() {
            Map<String, Object> found = new LinkedHashMap<>();
            enter();
            if (!follows('}')) {
                do {
                    space();
                    String key = string();
                    expect(':');
                    found.put(key, value());
                } while (follows(','));
                expect('}');
            }
            depth--;
            return found;
        }

        private List<Object> array() {
            List<Object> found = new ArrayList<>();
            enter();
            if (!follows(']')) {
                do {
                    found.add(value());
                } while (follows(','));
                expect(']');
            }
            depth--;
            return found;
        }

        private void enter() {
            at++;
            if (++depth > DEEPEST) {
                throw wrong("no deeper nesting");
            }
        }

        private String string() {
            if (at >= text.length() || text.charAt(at) != '"') {
                throw wrong("a string");
            }
            at++;
            StringBuilder found = new StringBuilder();
            while (true) {
                char next = take();
                if (next == '"') {
                    return found.toString();
                }
                if (next < 0x20) {
                    throw wrong("an escape for a control character");
                }
                found.append(next == '\\' ? escape() : next);
            }
        }

        private char escape() {
            char next = take();
            switch (next) {
                case '"', '\\', '/':
                    return next;
                case 'b':
                    return '\b';
                case 'f':
                    return '\f';
                case 'n':
                    return '\n';
                case 'r':
                    return '\r';
                case 't':
                    return '\t';
                case 'u':
                    // Each half of a surrogate pair has an escape; one after
                    // the other in a string they are the pair.
                    int value = 0;
                    for (int i = 0; i < 4; i++) {
                        int digit = Character.digit(take(), 16);
                        if (digit < 0) {
                            throw wrong("four hexadecimal digits");
                        }
                        value = value * 16 + digit;
                    }
                    return (char) value;
                default:
                    throw wrong("an escape");
            }
        }

        private Object word(String word, Object meaning) {
            if (!text.startsWith(word, at)) {
                throw wrong(word);
            }
            at += word.length();
            return meaning;
        }

        private Object number() {
            int start = at;
            if (text.startsWith("-Infinity", at)) {
                return word("-Infinity", Double.NEGATIVE_INFINITY);
            }
            while (at < text.length()
                    && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
            try {
                return Double.valueOf(text.substring(start, at));
            } catch (NumberFormatException error) {
                at = start;
                throw wrong("a value");
            }
        }

        private char take() {
            if (at >= text.length()) {
                throw wrong("the rest of a string");
            }
            return text.charAt(at++);
        }

        private void space() {
            while (at < text.length()
                    && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
        }

        private boolean follows(char wanted) {
            space();
            boolean found = at < text.length() && text.charAt(at) == wanted;
            if (found) {
                at++;
            }
            return found;
        }

        private void expect(char wanted) {
            if (!follows(wanted)) {
                throw wrong("'" + wanted + "'");
            }
        }

        private IllegalArgumentException wrong(String expected) {
            return new IllegalArgumentException(
                "No JSON: expected " + expected + " at character " + at + ".");
        }
    }

    private static final String HELP = """
        Usage: java AlbertClient.java --url URL --model NAME [options] [TEXT ...]

        Prints the label of each text and its probability, a tab in between,
        one line per text. Without a TEXT, each line of the standard input, in
        UTF-8, is a text; an empty line is one, too.

          --url URL           the server, such as http://127.0.0.1:8501
          --model NAME        the model's name
          --version NUMBER    asks this version
          --label LABEL       asks the version with this label
          --batch-size COUNT  texts per request at most (default: 32)
          --deadline SECONDS  time per batch with all tries (default: 30)
          --tries COUNT       requests per batch at most (default: 5)
          --help              prints this

        Ends with 0, or with 1 after an error and 2 after a wrong argument.
        """;

    /** Classifies arguments or lines; see {@code --help}. */
    public static void main(String[] arguments) throws IOException {
        PrintStream out = utf8(FileDescriptor.out);
        PrintStream err = utf8(FileDescriptor.err);
        int code = run(arguments, out, err);
        out.flush();
        err.flush();
        System.exit(code);
    }

    private static PrintStream utf8(FileDescriptor file) {
        return new PrintStream(
            new FileOutputStream(file), false, StandardCharsets.UTF_8);
    }

    private static int run(
            String[] arguments, PrintStream out, PrintStream err)
            throws IOException {
        List<String> texts = new ArrayList<>();
        Map<String, String> given;
        Options options = new Options();
        AlbertClient client;
        try {
            given = parse(arguments, texts);
            if (given.containsKey("--help")) {
                out.print(HELP);
                return 0;
            }
            for (String name : List.of("--url", "--model")) {
                if (!given.containsKey(name)) {
                    throw new IllegalArgumentException(name + " is missing.");
                }
            }
            choose(options, given);
            client = new AlbertClient(
                given.get("--url"), given.get("--model"), options);
        } catch (IllegalArgumentException error) {
            err.println("Error: " + error.getMessage() + " (See --help.)");
            return 2;
        }
        try {
            if (texts.isEmpty()) {
                classifyLines(client, out);
            } else {
                print(client.classify(texts), out);
            }
        } catch (ServingException error) {
            out.flush();
            err.println("Error: " + error.getMessage());
            return 1;
        }
        return 0;
    }

    private static final List<String> NAMES = List.of(
        "--url", "--model", "--version", "--label", "--batch-size",
        "--deadline", "--tries");

    private static Map<String, String> parse(
            String[] arguments, List<String> texts) {
        Map<String, String> given = new LinkedHashMap<>();
        for (int i = 0; i < arguments.length; i++) {
            String name = arguments[i];
            if (name.equals("--help")) {
                given.put(name, "");
            } else if (name.equals("--")) { // texts that begin with dashes
                texts.addAll(
                    Arrays.asList(arguments).subList(i + 1, arguments.length));
                break;
            } else if (NAMES.contains(name)) {
                if (++i == arguments.length) {
                    throw new IllegalArgumentException(name + " has no value.");
                }
                given.put(name, arguments[i]);
            } else if (name.startsWith("--")) {
                throw new IllegalArgumentException("Unknown option " + name);
            } else {
                texts.add(name);
            }
        }
        if (texts.stream().anyMatch(text -> text.contains("\uFFFD"))) {
            throw new IllegalArgumentException(
                "A text has characters that the terminal's encoding does not "
                + "carry. Send it through the standard input.");
        }
        return given;
    }

    private static void choose(Options options, Map<String, String> given) {
        given.forEach((name, value) -> {
            try {
                switch (name) {
                    case "--version" -> options.version(Long.parseLong(value));
                    case "--label" -> options.label(value);
                    case "--batch-size" ->
                        options.batchSize(Integer.parseInt(value));
                    case "--deadline" -> options.deadline(Duration.ofMillis(
                        Math.round(Double.parseDouble(value) * 1000)));
                    case "--tries" -> options.tries(Integer.parseInt(value));
                    default -> { }
                }
            } catch (NumberFormatException error) {
                throw new IllegalArgumentException(
                    name + " must be a number. Received: " + value);
            }
        });
    }

    /** Answers come batch by batch, however long the input is. */
    private static void classifyLines(AlbertClient client, PrintStream out)
            throws IOException {
        BufferedReader lines = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<String> batch = new ArrayList<>();
        lines.mark(1);
        if (lines.read() != '\uFEFF') { // some editors begin files with it
            lines.reset();
        }
        String line;
        while ((line = lines.readLine()) != null) {
            batch.add(line);
            if (batch.size() == client.batchSize) {
                print(client.classify(batch), out);
                batch.clear();
            }
        }
        print(client.classify(batch), out);
    }

    private static void print(List<Answer> answers, PrintStream out) {
        for (Answer answer : answers) {
            out.println(answer.label() + "\t" + String.format(
                Locale.ROOT, "%.6f", answer.probability()));
        }
        out.flush();
    }
}
