/** What the code relies on of the binding, whose binary comes with its package. */
import SQLite from 'better-sqlite3'
import t from 'tap'

t.test('the binding of this runtime has what the code relies on', async (t) => {
  const db = new SQLite(':memory:')
  t.teardown(() => db.close())
  const version = db.prepare<[], string>('select sqlite_version()').pluck().get() ?? ''
  t.ok(version.localeCompare('3.46', 'en', { numeric: true }) > 0, version)
  t.equal(db.inTransaction, false)
  t.throws(() => db.exec('select'), SQLite.SqliteError)
  t.throws(() => db.exec('create table t (n integer primary key) strict; insert into t values (1), (1)'), {
    code: 'SQLITE_CONSTRAINT_PRIMARYKEY',
  })
  t.same(db.prepare('select ? as n').all(Buffer.from('raw')), [{ n: Buffer.from('raw') }])
})

t.test('the memory of statements and connections is given back without an abort', async (t) => {
  for (let round = 0; round < 200; round += 1) {
    const db = new SQLite(':memory:')
    db.prepare('select 1').get()
    if (round % 2 === 0) db.close()
  }
  t.pass('still running')
})
