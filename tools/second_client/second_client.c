/* A client of Postgres that shares no code with basecase: protocol 3 over a Unix socket, no password, one session.
 *
 * second_client sql SOCKET DATABASE STATEMENT…
 *     executes the statements one after another and prints the last value.
 * second_client rows SOCKET DATABASE ROWS SEED
 *     fills the table sbtest1.
 * second_client session SOCKET DATABASE SEED MOST_STATEMENTS ROWS SQL PARAMETERS WIDTH EXPECTED [describe]
 *     lives through a drawn history of at most so many unrelated prepared statements, prepares SQL, and says
 *         ready pid P prepared N deallocated D
 *     Then for each line "run M ms" on stdin it executes the statement for so long and answers
 *         queries Q ns N
 *     PARAMETERS: 0 (a simple query, as text), 1 (an id), 2 (an id, and that plus WIDTH). EXPECTED: the rows of a
 *     reply, or "range" for those ids that exist. Integers are declared int8 and sent as text; replies are binary.
 *     With "describe" each execution asks for its columns, as libpq's PQexecPrepared does.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { INT8 = 20, INT4 = 23, TEXT = 25, FLOAT8 = 701, NUMERIC = 1700 };

static _Noreturn void fail(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("second_client: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    exit(1);
}

static void *allocated(void *old, size_t size)
{
    void *memory = realloc(old, size);
    if (!memory)
        fail("no memory for %zu bytes", size);
    return memory;
}

/* ---- draws: splitmix64 ---- */

static uint64_t draw_state;

static uint64_t drawn(void)
{
    uint64_t z = draw_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static long drawn_between(long least, long most)
{
    return least + (long)((unsigned __int128)drawn() * (uint64_t)(most - least + 1) >> 64);
}

/* ---- the connection ---- */

static int server;
static unsigned char *output, *input;
static size_t output_length, output_size, input_from, input_to, input_size;
static int server_pid;

static void put(const void *bytes, size_t length)
{
    if (output_length + length > output_size) {
        output_size = 2 * (output_length + length);
        output = allocated(output, output_size);
    }
    memcpy(output + output_length, bytes, length);
    output_length += length;
}

static void put_int32(int32_t value)
{
    unsigned char bytes[4] = {(uint32_t)value >> 24, (uint32_t)value >> 16, (uint32_t)value >> 8, (uint32_t)value};
    put(bytes, 4);
}

static void put_int16(int value)
{
    unsigned char bytes[2] = {value >> 8, value};
    put(bytes, 2);
}

static void put_text(const char *text)
{
    put(text, strlen(text) + 1);
}

static int32_t int32_at(const unsigned char *bytes)
{
    return (int32_t)((uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]);
}

/* Begins a message; end_message writes its length. */
static size_t begin_message(char kind)
{
    put(&kind, 1);
    put_int32(0);
    return output_length - 4;
}

static void end_message(size_t at)
{
    uint32_t length = output_length - at;
    unsigned char bytes[4] = {length >> 24, length >> 16, length >> 8, length};
    memcpy(output + at, bytes, 4);
}

static void put_message(char kind, const char *text)
{
    size_t at = begin_message(kind);
    if (text)
        put_text(text);
    end_message(at);
}

static void flush_output(void)
{
    for (size_t sent = 0; sent < output_length;) {
        ssize_t count = send(server, output + sent, output_length - sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            fail("sending to the server: %s", strerror(errno));
        sent += count;
    }
    output_length = 0;
}

/* Sees to it that so many bytes from input_from on are there. */
static void need_input(size_t length)
{
    if (input_to - input_from >= length)
        return;
    memmove(input, input + input_from, input_to - input_from);
    input_to -= input_from;
    input_from = 0;
    if (length > input_size) {
        input_size = length + 65536;
        input = allocated(input, input_size);
    }
    while (input_to < length) {
        ssize_t count = recv(server, input + input_to, input_size - input_to, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            fail("receiving from the server: %s", count ? strerror(errno) : "it closed the session");
        input_to += count;
    }
}

static _Noreturn void fail_by_server(const unsigned char *body, const unsigned char *end)
{
    for (; body < end && *body; body += strlen((const char *)body) + 1)
        if (*body == 'M')
            fail("the server says: %s", (const char *)body + 1);
    fail("the server reports an error");
}

/* Reads messages until the server is ready; returns the number of rows, and keeps the last row's first column, if there is a
 * place for it. */
static long until_ready(char *value, size_t value_size)
{
    for (long rows = 0;;) {
        need_input(5);
        char kind = input[input_from];
        int32_t length = int32_at(input + input_from + 1);
        if (length < 4 || length > 1 << 28)
            fail("a message of %d bytes is not of this protocol", length);
        need_input(1 + (size_t)length);
        const unsigned char *body = input + input_from + 5;
        const unsigned char *end = input + input_from + 1 + length;
        input_from += 1 + (size_t)length;
        switch (kind) {
        case 'D':
            rows++;
            if (value && length > 10 && int32_at(body + 2) >= 0)
                snprintf(value, value_size, "%.*s", int32_at(body + 2), body + 6);
            break;
        case 'E':
            fail_by_server(body, end);
        case 'R':
            if (int32_at(body) != 0)
                fail("the server wants a password\nhint: local sessions need trust authentication");
            break;
        case 'K':
            server_pid = int32_at(body);
            break;
        case 'Z':
            return rows;
        }
    }
}

static void connect_to(const char *path, const char *database)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        fail("the path of the socket is too long: %s", path);
    strcpy(address.sun_path, path);
    input_size = 1 << 18;
    input = allocated(NULL, input_size);
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address) < 0)
        fail("connecting to %s: %s", path, strerror(errno));
    put_int32(0);
    put_int32(3 << 16);
    put_text("user");
    put_text("postgres");
    put_text("database");
    put_text(database);
    put("", 1);
    end_message(0);
    flush_output();
    until_ready(NULL, 0);
}

static long simple(const char *sql, char *value, size_t value_size)
{
    put_message('Q', sql);
    flush_output();
    return until_ready(value, value_size);
}

static void prepare(const char *name, const char *sql, int count, const int *types)
{
    size_t at = begin_message('P');
    put_text(name);
    put_text(sql);
    put_int16(count);
    for (int i = 0; i < count; i++)
        put_int32(types[i]);
    end_message(at);
    put_message('S', NULL);
    flush_output();
    until_ready(NULL, 0);
}

/* Binds texts, asks for binary columns, and reads the whole reply. */
static long execute(const char *name, int count, const char *const *texts, int describe)
{
    size_t at = begin_message('B');
    put_text("");
    put_text(name);
    put_int16(0);
    put_int16(count);
    for (int i = 0; i < count; i++) {
        put_int32(strlen(texts[i]));
        put(texts[i], strlen(texts[i]));
    }
    put_int16(1);
    put_int16(1);
    end_message(at);
    if (describe)
        put_message('D', "P");
    at = begin_message('E');
    put_text("");
    put_int32(0);
    end_message(at);
    put_message('S', NULL);
    flush_output();
    return until_ready(NULL, 0);
}

/* ---- the table ---- */

static void put_groups(int count)
{
    char text[16];
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, i ? "-%011ld" : "%011ld", drawn_between(0, 99999999999));
        put(text, strlen(text));
    }
}

/* By INSERT, as sysbench does: COPY of 16 and later extends the table by more pages than it fills. */
static void fill_table(long rows)
{
    for (long first = 0; first < rows; first += 500) {
        size_t at = begin_message('Q');
        put("INSERT INTO sbtest1 (k, c, pad) VALUES ", 39);
        for (long row = first; row < rows && row < first + 500; row++) {
            char text[32];
            snprintf(text, sizeof text, row > first ? ", (%ld, '" : "(%ld, '", drawn_between(1, rows));
            put(text, strlen(text));
            put_groups(10);
            put("', '", 4);
            put_groups(5);
            put("')", 2);
        }
        put("", 1);
        end_message(at);
        flush_output();
        until_ready(NULL, 0);
    }
}

/* ---- a history ---- */

enum { MOST_PARAMETERS = 12 };

struct unrelated {
    char name[16];
    char *sql;
    int count;
    int types[MOST_PARAMETERS];
    char texts[MOST_PARAMETERS][400];
    int is_closed_again;
    int done; /* 0: nothing yet, 1: prepared, 2: executed, 3: closed */
};

static void append(char **text, const char *format, ...)
{
    va_list values;
    char piece[600];
    va_start(values, format);
    vsnprintf(piece, sizeof piece, format, values);
    va_end(values);
    size_t length = strlen(*text);
    *text = allocated(*text, length + strlen(piece) + 1);
    strcpy(*text + length, piece);
}

/* Lengths from least to most, each order of magnitude alike. */
static long drawn_length(long least, long most)
{
    long limit = least;
    while (limit < most && drawn_between(0, 2))
        limit *= 2;
    return drawn_between(least, limit < most ? limit : most);
}

static void append_parameter(struct unrelated *one, int type, long rows)
{
    char *text = one->texts[one->count];
    one->types[one->count++] = type;
    if (type == TEXT) {
        long length = drawn_length(1, 399);
        for (long i = 0; i < length; i++)
            text[i] = 'a' + drawn_between(0, 25);
        text[length] = 0;
    } else {
        sprintf(text, type == FLOAT8 || type == NUMERIC ? "%ld.5" : "%ld", drawn_between(1, rows));
    }
    append(&one->sql, "$%d", one->count);
}

/* A list of values: parameters of random types, and literals of random lengths. */
static void append_values(struct unrelated *one, long rows)
{
    static const int types[] = {INT4, INT8, TEXT, FLOAT8, NUMERIC};
    static const char *const names[] = {"int4", "int8", "text", "float8", "numeric"};
    long count = drawn_between(1, MOST_PARAMETERS);
    for (long i = 0; i < count; i++) {
        long type = drawn_between(0, 5);
        append(&one->sql, i ? ", " : "");
        if (type < 5) {
            append_parameter(one, types[type], rows);
            append(&one->sql, "::%s", names[type]);
        } else {
            append(&one->sql, "'%0*d'", (int)drawn_length(1, 500), 0);
        }
    }
}

static void draw_statement(struct unrelated *one, int number, long rows)
{
    snprintf(one->name, sizeof one->name, "u%d", number);
    one->sql = allocated(NULL, 1);
    *one->sql = 0;
    switch (drawn_between(0, 4)) {
    case 0:
        append(&one->sql, "SELECT ");
        append_values(one, rows);
        break;
    case 1:
        append(&one->sql, "SELECT k, pad FROM sbtest1 WHERE id = ");
        append_parameter(one, drawn_between(0, 1) ? INT4 : INT8, rows);
        append(&one->sql, " AND c <> ");
        append_parameter(one, TEXT, rows);
        break;
    case 2:
        append(&one->sql, "SELECT count(*), max(k) FROM sbtest1 WHERE k = ");
        append_parameter(one, INT8, rows);
        append(&one->sql, " OR id = ");
        append_parameter(one, INT4, rows);
        break;
    case 3:
        append(&one->sql, "SELECT relname FROM pg_class WHERE relpages < ");
        append_parameter(one, INT4, rows);
        append(&one->sql, " ORDER BY relname LIMIT %ld", drawn_between(1, 50));
        break;
    default:
        append(&one->sql, "SELECT id, c FROM sbtest1 WHERE id IN (");
        for (long i = drawn_between(1, MOST_PARAMETERS); i > 0; i--) {
            append_parameter(one, INT4, rows);
            append(&one->sql, i > 1 ? ", " : ") ORDER BY pad");
        }
    }
    if (drawn_between(0, 1))
        append(&one->sql, " /* %0*d */", (int)drawn_length(1, 500), 0);
    one->is_closed_again = drawn_between(0, 2) == 0;
}

/* The next of what a statement goes through; whether that was the last. */
static int live_on(struct unrelated *one)
{
    const char *texts[MOST_PARAMETERS];
    char sql[32];
    switch (one->done++) {
    case 0:
        prepare(one->name, one->sql, one->count, one->types);
        return 0;
    case 1:
        for (int i = 0; i < one->count; i++)
            texts[i] = one->texts[i];
        execute(one->name, one->count, texts, 0);
        return !one->is_closed_again;
    default:
        snprintf(sql, sizeof sql, "DEALLOCATE %s", one->name);
        simple(sql, NULL, 0);
        return 1;
    }
}

static void live_through_history(long most, long rows, int *prepared, int *deallocated)
{
    int count = drawn_between(0, most);
    struct unrelated *all = allocated(NULL, (count + 1) * sizeof *all);
    memset(all, 0, (count + 1) * sizeof *all);
    *prepared = count;
    *deallocated = 0;
    for (int i = 0; i < count; i++) {
        draw_statement(&all[i], i, rows);
        *deallocated += all[i].is_closed_again;
    }
    for (int left = count; left;) {
        int chosen = drawn_between(0, left - 1);
        if (live_on(&all[chosen])) {
            free(all[chosen].sql);
            all[chosen] = all[--left];
        }
    }
    free(all);
}

/* ---- the measured statement ---- */

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + time.tv_nsec;
}

struct measured {
    const char *sql;
    int parameters;
    long rows, width, expected;
    int is_range, describe;
};

static void execute_measured(const struct measured *one)
{
    char low_text[24], high_text[24];
    const char *texts[] = {low_text, high_text};
    long low = drawn_between(1, one->rows);
    long expected = one->expected, found;
    if (one->is_range)
        expected = one->width + 1 < one->rows - low + 1 ? one->width + 1 : one->rows - low + 1;
    if (one->parameters == 0) {
        found = simple(one->sql, NULL, 0);
    } else {
        sprintf(low_text, "%ld", low);
        sprintf(high_text, "%ld", low + one->width);
        found = execute("measured", one->parameters, texts, one->describe);
    }
    if (found != expected)
        fail("%ld rows from id %ld on, not %ld: %s", found, low, expected, one->sql);
}

static void obey(const struct measured *one)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        long milliseconds;
        if (sscanf(line, "run %ld ms", &milliseconds) != 1)
            fail("not \"run M ms\": %s", line);
        uint64_t queries = 0, began = now_ns(), elapsed;
        do {
            execute_measured(one);
            queries++;
            elapsed = now_ns() - began;
        } while (elapsed < (uint64_t)milliseconds * 1000000u);
        printf("queries %llu ns %llu\n", (unsigned long long)queries, (unsigned long long)elapsed);
        fflush(stdout);
    }
}

static void session(int count, char **arguments)
{
    static const int types[] = {INT8, INT8};
    draw_state = strtoull(arguments[0], NULL, 10);
    struct measured one = {
        .sql = arguments[3],
        .parameters = atoi(arguments[4]),
        .rows = atol(arguments[2]),
        .width = atol(arguments[5]),
        .expected = atol(arguments[6]),
        .is_range = !strcmp(arguments[6], "range"),
        .describe = count > 7,
    };
    int prepared, deallocated;
    live_through_history(atol(arguments[1]), one.rows, &prepared, &deallocated);
    if (one.parameters)
        prepare("measured", one.sql, one.parameters, types);
    printf("ready pid %d prepared %d deallocated %d\n", server_pid, prepared, deallocated);
    fflush(stdout);
    obey(&one);
}

int main(int count, char **arguments)
{
    const char *mode = count > 4 ? arguments[1] : "";
    int left = count - 4;
    if (!strcmp(mode, "sql")) {
        char value[200] = "";
        connect_to(arguments[2], arguments[3]);
        for (int i = 4; i < count; i++)
            simple(arguments[i], value, sizeof value);
        puts(value);
    } else if (!strcmp(mode, "rows") && left == 2) {
        connect_to(arguments[2], arguments[3]);
        draw_state = strtoull(arguments[5], NULL, 10);
        fill_table(atol(arguments[4]));
    } else if (!strcmp(mode, "session") && (left == 7 || left == 8)) {
        connect_to(arguments[2], arguments[3]);
        session(left, arguments + 4);
    } else {
        fail("not the arguments of sql, rows or session\nhint: they stand at the head of second_client.c");
    }
    put_message('X', NULL);
    flush_output();
    return 0;
}
