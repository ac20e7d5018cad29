/** Which certificates are warned about, when, and in how many notices. */
import { pino } from 'pino'
import t from 'tap'
import {
  type ExpiryWarning,
  ExpiryWatch,
  type WatchedCertificate,
} from '../../../src/operations/certificates/expiry-watch.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { seedDatabase } from '../../helpers/database/seed-data.js'

const DAY = 86_400_000
const START = Date.UTC(2026, 0, 1)

t.test(
  'all that expire are in one notice, those that expire first before the others, again after three days',
  async (t) => {
    const { database } = await temporaryDatabase(t)
    const { workspaceId } = await seedDatabase(database)
    await database.commit([
      { sql: `insert into service_state (key, value) values ('operator_workspace', ?)`, parameters: [workspaceId] },
    ])
    const lines: string[] = []
    const noticed: string[][] = []
    let now = START
    const certificate = (name: string, days: number): WatchedCertificate => {
      return { name, from: START - (90 - days) * DAY, to: START + days * DAY, fault: null }
    }
    let certificates = [certificate('later.test', 9), certificate('new.test', 80), certificate('soon.test', 3)]
    const watch = new ExpiryWatch({
      ...{ read: database.read, commit: database.commit, clock: () => now },
      log: pino({ base: null }, { write: (line: string) => lines.push(line) }),
      list: () => certificates,
      composeNotices: async (_workspaceId, warnings: readonly ExpiryWarning[]) => {
        noticed.push(warnings.map(({ name }) => name))
        return { writes: [], onCommitted: () => undefined }
      },
    })
    const events = async (): Promise<unknown[]> =>
      database.read(`select 1 from events where type = 'certificate.expiring'`, [])
    await watch.check()
    t.same(noticed, [['soon.test', 'later.test']])
    t.equal((await events()).length, 2)
    t.equal(lines.length, 2)
    now += DAY
    await watch.check()
    t.equal(noticed.length, 1, 'not again the next day')
    now += 2 * DAY
    await watch.check()
    t.same(noticed[1], ['soon.test', 'later.test'])
    t.equal((await events()).length, 4)
    certificates = [certificate('soon.test', 3)]
    now += 4 * DAY
    await watch.check()
    const known = await database.read(`select key from service_state where key like 'certificate_warned:%'`, [])
    t.same(known, [{ key: 'certificate_warned:soon.test' }], 'the time of one that is gone is removed')
  },
)
