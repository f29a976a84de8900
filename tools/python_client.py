#!/usr/bin/env python3
"""Client CPU of a plain Python loop, in the manner of the Insert Benchmark's Python client.

Builds 100-row inserts and runs range and point queries through psycopg2 (`pip install psycopg2-binary`), on a table of its own,
and prints µs of client CPU per row and per query. It does less than the reference client, which also passes statements between
processes and keeps histograms, so its figures are a lower bound. side_by_side.py runs it beside basecase and pgbench.

usage: python_client.py 'host=… port=… user=… password=… dbname=…' [rows] [seconds]
"""
import random
import resource
import string
import sys
import time

import psycopg2


def cpu_us():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1e6


def row(now, letters):
    register, product = random.randrange(0, 1000), random.randrange(0, 10000)
    customer, price = random.randrange(0, 100000), random.randrange(0, 500)
    length = random.randint(10, 20)
    tail = int(length * 0.75 * 0.5)
    start = random.randrange(0, len(letters) - tail)
    data = "a" * (length - tail) + letters[start : start + tail]
    return "('%s',%d,%d,%d,%d.00,'%s')" % (now, register, customer, product, price, data)


def main():
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 5.0
    connection = psycopg2.connect(sys.argv[1])
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("drop table if exists python_client")
    cursor.execute(
        "create table python_client (transactionid bigserial primary key, dateandtime timestamp, cashregisterid int not null,"
        " customerid int not null, productid int not null, price int not null, data varchar(4000))"
    )
    letters = "".join(random.choices(string.ascii_letters + string.digits + "+/", k=1 << 20))

    before = cpu_us()
    for _ in range(rows // 100):
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        values = ",".join(row(now, letters) for _ in range(100))
        cursor.execute(
            "insert into python_client(dateandtime,cashregisterid,customerid,productid,price,data) values " + values
        )
    print("insert %.3f" % ((cpu_us() - before) / rows))

    cursor.execute("create index python_client_marketsegment on python_client (productid, customerid, price)")
    cursor.execute(
        "prepare market (int) as select productid, customerid, price from python_client where productid >= $1"
        " order by productid, customerid, price limit 10"
    )
    cursor.execute(
        "prepare point (%s) as select transactionid, productid, data from python_client where transactionid in (%s)"
        % (", ".join(["int"] * 10), ", ".join("$%d" % number for number in range(1, 11)))
    )
    statements = {
        "range": lambda: "execute market (%d)" % random.randrange(0, 10000),
        "point": lambda: "execute point (%s)" % ",".join(str(random.randrange(0, rows)) for _ in range(10)),
    }
    for name, statement in statements.items():
        before, queries, until = cpu_us(), 0, time.monotonic() + seconds
        while time.monotonic() < until:
            for _ in range(100):
                began = time.time()
                cursor.execute(statement())
                len(cursor.fetchall())
                _ = time.time() - began
                queries += 1
        print("%s %.3f" % (name, (cpu_us() - before) / queries))


main()
