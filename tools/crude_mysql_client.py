"""A client of MySQL's protocol for crude_counts_mysql.py, which shares no code with basecase."""
import socket
import struct

LIMIT_S = 400
# MYSQL_TYPE_LONGLONG and MYSQL_TYPE_VAR_STRING, signed.
TYPES = {int: b"\x08\0", str: b"\xfd\0"}


class Session:
    """A session of protocol 10 on a Unix socket, as root without a password: simple statements, and one prepared statement."""

    def __init__(self, work, database=""):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT_S)
        self.socket.connect(str(work / "s.sock"))
        self.input = self.socket.makefile("rb")
        greeting = self.packet()
        after = greeting.index(b"\0", 1) + 1 + 4 + 8 + 1
        offered = struct.unpack_from("<H", greeting, after)[0] | struct.unpack_from("<H", greeting, after + 5)[0] << 16
        # LONG_PASSWORD, LONG_FLAG, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_RESULTS, PS_MULTI_RESULTS, PLUGIN_AUTH, DEPRECATE_EOF;
        # below, 45 is utf8mb4_general_ci.
        wanted = (1 | 4 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 24) & offered | (8 if database else 0)
        self.has_eof = not wanted >> 24 & 1
        body = struct.pack("<IIB23x", wanted, 1 << 30, 45) + b"root\0\0" + (database.encode() + b"\0" if database else b"")
        self.send(body + b"mysql_native_password\0", self.sequence + 1)
        while self.packet()[0] != 0:
            # The server asks for another method; without a password its answer is empty too.
            self.send(b"", self.sequence + 1)

    def packet(self):
        head = self.input.read(4)
        if len(head) < 4:
            raise OSError("the server has closed the session")
        self.sequence = head[3]
        body = self.input.read(int.from_bytes(head[:3], "little"))
        if body[:1] == b"\xff":
            raise RuntimeError(body[3:].decode(errors="replace"))
        return body

    def send(self, body, sequence=0):
        self.socket.sendall(len(body).to_bytes(3, "little") + bytes([sequence]) + body)

    def rows(self):
        """Reads a reply, and counts its rows."""
        head = self.packet()
        if head[0] == 0:
            return 0
        for _ in range(head[0] + self.has_eof):
            self.packet()
        return sum(1 for _ in iter(lambda: self.packet()[0], 0xFE))

    def simple(self, sql):
        self.send(b"\x03" + sql.encode())
        return self.rows()

    def prepare(self, sql):
        self.send(b"\x16" + sql.encode())
        reply = self.packet()
        self.statement, columns, parameters = struct.unpack_from("<IHH", reply, 1)
        for _ in range(columns + parameters + self.has_eof * ((columns > 0) + (parameters > 0))):
            self.packet()
        self.has_types = False

    def execute(self, values):
        types = b"\0" if self.has_types else b"\1" + b"".join(TYPES[type(value)] for value in values)
        bound = [struct.pack("<q", value) if isinstance(value, int) else bytes([len(value)]) + value.encode() for value in values]
        self.has_types = True
        self.send(b"\x17" + struct.pack("<IBIB", self.statement, 0, 1, 0) + types + b"".join(bound))
        return self.rows()

    def close(self):
        self.send(b"\x01")
        # The thread closes the socket when it has left dispatch_command.
        self.input.read()
        self.socket.close()
