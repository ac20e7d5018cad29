/** A server is judged before data is stored there. */
import t from 'tap'
import { checkServer } from '../../../../src/base/storage/postgres/check-server.js'
import { readConnectionSettings } from '../../../../src/base/storage/postgres/connection-settings.js'
import { stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'

t.teardown(stopServer)

function judge(url: string, passwordFile = ''): ReturnType<typeof checkServer> {
  return checkServer(readConnectionSettings({ url, passwordFile, caFile: '', schema: 'posthorn' }, {}))
}

async function run(url: string, sql: string): Promise<void> {
  const { Client } = await import('pg')
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

t.test('a password file that cannot be read is a fault, although the server asks for none', async (t) => {
  const nowhere = judge('postgres://a@127.0.0.1:1/b', '/none')
  const fault = /^found "\/none", which cannot be read \(ENOENT\); allowed: a readable file/
  await t.rejects(nowhere, { name: 'ConnectionSettingsError', key: 'storage.password_file', fault })
})

t.test('the command that is told where commits are not kept has its effect', { skip: withoutPostgres }, async (t) => {
  const url = await temporaryPostgres(t)
  const database = decodeURIComponent(new URL(url).pathname.slice(1))
  await run(url, `alter database "${database}" set synchronous_commit = local`)
  const [problem = ''] = (await judge(url)).problems.filter((text) => text.startsWith('synchronous_commit'))
  t.match(problem, /^synchronous_commit is local, .*; allowed: on, remote_apply, remote_write \(alter role /)
  const [, command = ''] = /\((alter role .*)\)$/.exec(problem) ?? []
  await run(url, command)
  t.notMatch((await judge(url)).problems.join('\n'), /synchronous_commit/)
})
