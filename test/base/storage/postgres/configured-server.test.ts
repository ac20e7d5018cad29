/** How the log names the database. */
import t from 'tap'
import { describeServer } from '../../../../src/base/storage/postgres/configured-server.js'

t.test('hosts, name and schema, without user and password', async (t) => {
  const storage = { password_file: '', ca_file: '', schema: 'mail', connections: 4 }
  const url = 'postgres://someone:secret@db1.example.net,db2.example.net:5433/posthorn?target_session_attrs=read-write'
  t.equal(
    describeServer({ ...storage, url }),
    'PostgreSQL at db1.example.net:5432 or db2.example.net:5433, database posthorn, schema mail',
  )
  t.equal(
    describeServer({ ...storage, url: 'postgres:///posthorn?host=/run/postgresql' }),
    'PostgreSQL at /run/postgresql/.s.PGSQL.5432, database posthorn, schema mail',
  )
})
