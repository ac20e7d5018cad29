/** A failed connection says what the operator can do about it. */
import t from 'tap'
import { describeConnectFailure, NoWriter } from '../../../../src/base/storage/postgres/connect-failures.js'

const host = { host: 'db.test', port: 5432 }
const attempt = { host, maxConnect: 5_000, trust: '' }

function fault(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

t.test('a server that is there and takes no writes, or does not answer', async (t) => {
  t.equal(describeConnectFailure(new NoWriter('is a standby'), attempt), 'is a standby')
  t.equal(describeConnectFailure(new Error('timeout expired'), attempt), 'has not answered within 5 s')
  t.equal(describeConnectFailure(new Error('odd'), attempt), 'says: odd')
})

t.test('what the server refuses', async (t) => {
  const unencrypted = fault('28000', 'no pg_hba.conf entry for host "192.0.2.1", user "mail", no encryption')
  t.match(
    describeConnectFailure(unencrypted, attempt),
    /\(28000\): add \?sslmode=verify-full to storage\.url, or a line/,
  )
  const onSocket = { ...attempt, host: { host: '/run/postgresql', port: 5432 } }
  t.match(describeConnectFailure(unencrypted, onSocket), /: see pg_hba\.conf of the server$/)
  const encrypted = fault('28000', 'no pg_hba.conf entry for host "192.0.2.1", user "mail", SSL encryption')
  t.match(describeConnectFailure(encrypted, attempt), /: see pg_hba\.conf of the server$/)
})

t.test('too many connections, of the server or of one role or database', async (t) => {
  const describe = (message: string) => describeConnectFailure(fault('53300', message), attempt)
  t.match(describe('sorry, too many clients already'), /\(53300\): raise max_connections of the server$/)
  t.match(describe('too many connections for role "mail"'), /: raise its limit: alter role "mail" connection limit -1$/)
  t.match(describe('too many connections for database "a b"'), /alter database "a b" connection limit -1$/)
})

t.test('a certificate that is not trusted', async (t) => {
  const advice = '; if the root CA is installed locally, try running Node.js with --use-system-ca'
  const error = fault('UNABLE_TO_VERIFY_LEAF_SIGNATURE', `unable to verify the first certificate${advice}`)
  t.equal(
    describeConnectFailure(error, attempt),
    'says: unable to verify the first certificate (UNABLE_TO_VERIFY_LEAF_SIGNATURE): name the certificate of its authority in storage.ca_file',
  )
  t.match(
    describeConnectFailure(error, { ...attempt, trust: 'storage.ca_file' }),
    /: its certificate was not issued by what storage\.ca_file names: name that of its authority there$/,
  )
})
