/** A node puts in force what other processes have changed, and does nothing for what they have not. */
import t from 'tap'
import { countChange, type FollowedTable, TableChanges } from '../../../src/base/storage/db/table-changes.js'
import { followedSubjects, followedTables } from '../../../src/base/storage/schema/changes.js'
import { Changes } from '../../../src/servers/api/changes.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

type Parts = ConstructorParameters<typeof Changes>[0]

/** A part that notes its calls. */
function noting(calls: Set<string>, name: string, fields: object = {}): object {
  return new Proxy(fields, {
    get: (target, method: string) =>
      Reflect.get(target, method) ??
      (async () => {
        calls.add(`${name}.${method}`)
        return []
      }),
  })
}

function openChanges() {
  const calls = new Set<string>()
  const names = ['operatorWorkspace', 'domains', 'receivingDomains', 'forwardRules', 'signingKeys', 'signing'] as const
  const caches = [...names, 'suppressions', 'templates'].map((name) => [name, noting(calls, name, { follows: [] })])
  const runners = ['delivery', 'domainChecks', 'webhooks', 'broadcasts', 'exports', 'imports'].map((name) => [
    name,
    noting(calls, name),
  ])
  const parts = {
    ...Object.fromEntries([...caches, ...runners]),
    apiKeyCache: noting(calls, 'keys', { follows: ['api_keys', 'members'] }),
    workspaces: noting(calls, 'workspaces', { follows: ['workspaces', 'members'] }),
    people: {
      erasures: {
        takeUp: async () => {
          calls.add('erasures.takeUp')
          return ['ws_closed']
        },
      },
    },
  } satisfies Partial<Record<keyof Parts, unknown>>
  const sessions = noting(calls, 'sessions')
  const changes: Changes = Reflect.construct(Changes, [parts, sessions, { error: () => undefined }])
  return {
    after: async (...changed: readonly FollowedTable[]): Promise<readonly string[]> => {
      calls.clear()
      await changes.madeElsewhere(new Set(changed))
      return [...calls].filter((call) => !call.endsWith('.drop')).sort()
    },
  }
}

const effects: Partial<Record<FollowedTable, readonly string[]>> = {
  api_keys: ['keys.drop', 'sessions.recheckSessions'],
  members: ['sessions.recheckSessions', 'workspaces.reload'],
  workspaces: ['broadcasts.recheck', 'workspaces.reload'],
  broadcasts: ['broadcasts.recheck'],
  domains: ['domainChecks.wake'],
  domain_checks: ['domainChecks.wake'],
  dropped_mail: ['delivery.dropMail'],
  due_mail: ['delivery.lookAgain'],
  queue_acts: ['delivery.refresh'],
  hold_rules: ['delivery.refresh'],
  webhooks: ['webhooks.reload'],
  webhook_replays: ['webhooks.reload'],
  exports: ['exports.refresh', 'exports.takeUp'],
  imports: ['imports.takeUp'],
  erasures: ['erasures.takeUp', 'exports.refresh', 'webhooks.closeWorkspace'],
}

t.test('each change has its effects and no others', async (t) => {
  const { after } = openChanges()
  t.same(await after(), [], 'a commit of something else')
  for (const subject of [...followedTables, ...followedSubjects]) {
    if (subject === 'commands') continue
    const expected = (effects[subject] ?? []).filter((call) => !call.endsWith('.drop'))
    t.same(await after(subject), expected, subject)
  }
})

t.test('a command may have changed anything', async (t) => {
  const { after } = openChanges()
  t.same(await after('commands'), [
    ...['broadcasts.recheck', 'delivery.refresh', 'domainChecks.wake', 'erasures.takeUp', 'exports.refresh'],
    ...['exports.takeUp', 'imports.takeUp', 'sessions.recheckSessions', 'webhooks.closeWorkspace', 'webhooks.reload'],
  ])
})

t.test('an act that another process has counted is found', async (t) => {
  const { database, openAgain } = await temporaryDatabase(t)
  const changes = new TableChanges(database.read, [])
  const found: (readonly string[])[] = []
  const look = () => changes.follow(async (changed) => void found.push([...changed]))
  await look()
  await (await openAgain()).commit([countChange('due_mail')])
  await look()
  t.ok(found[1]?.includes('due_mail'))
  t.notOk(found[1]?.includes('queue_acts'))
})
