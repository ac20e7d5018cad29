// Rows of a daemon's database, which is a file of SQLite or a server of PostgreSQL. Statements are written so that both
// engines take them; parameters are `?`.
import SQLite from 'better-sqlite3'
import pg from 'pg'

/** `database`: a file, or the URL of a database. */
export async function openRows(database) {
  return database.startsWith('postgres://') ? openServer(database) : openFile(database)
}

/** Rows of one statement. */
export async function readRows(database, sql, ...parameters) {
  const rows = await openRows(database)
  try {
    return await rows.read(sql, parameters)
  } finally {
    await rows.close()
  }
}

function openFile(file) {
  const db = new SQLite(file)
  return {
    read: (sql, parameters) => db.prepare(sql).all(parameters),
    /** Runs a statement for each list of parameters, in one transaction that need not be durable. */
    write: (sql, lists) => {
      db.pragma('synchronous = OFF')
      const statement = db.prepare(sql)
      db.transaction(() => {
        for (const list of lists) statement.run(list)
      })()
    },
    close: () => db.close(),
  }
}

async function openServer(url) {
  const client = await connectToPrimary(url)
  client.setTypeParser(20, Number)
  await client.query('set search_path = posthorn')
  return {
    read: async (sql, parameters) => (await client.query(numbered(sql), parameters)).rows,
    write: async (sql, lists) => {
      const text = numbered(sql)
      await client.query('begin')
      for (const list of lists) await client.query({ name: text.slice(0, 60), text, values: list })
      await client.query('commit')
    },
    close: () => client.end(),
  }
}

/** Of several hosts the first that takes writes. */
async function connectToPrimary(url) {
  const [, login, hosts, rest] = /^(postgres:\/\/(?:[^@/]*@)?)([^/]*)([^?]*)/.exec(url)
  let fault = new Error('each host is a standby')
  for (const host of hosts.split(',')) {
    const client = new pg.Client({ connectionString: `${login}${host}${rest}`, connectionTimeoutMillis: 5_000 })
    try {
      await client.connect()
      const { rows } = await client.query('select pg_is_in_recovery() as standby')
      if (!rows[0].standby) return client
      await client.end()
    } catch (error) {
      fault = error
    }
  }
  throw fault
}

function numbered(sql) {
  let number = 0
  return sql.replaceAll('?', () => {
    number += 1
    return `$${number}`
  })
}
