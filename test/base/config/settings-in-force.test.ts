/** What the daemon publishes of its settings, and which settings of the file it does not have yet. */
import t from 'tap'
import { type EffectiveValue, NOT_READ } from '../../../src/base/config/effective-values.js'
import {
  findWaitingSettings,
  readPublishedSettings,
  SettingsInForce,
} from '../../../src/base/config/settings-in-force.js'
import { temporaryFolder } from '../../helpers/database/database.js'

function valuesOf(values: Readonly<Record<string, unknown>>): readonly EffectiveValue[] {
  return Object.entries(values).map(([key, value]) => ({ key, value, hidden: false, source: 'default' }))
}

t.test('a reload changes what it can, and the rest waits for a restart', async (t) => {
  const folder = temporaryFolder(t)
  t.equal(readPublishedSettings(folder), null)
  const started = { 'api.listen': ['a'], 'outbound.port': 25, 'outbound.routes."b.test"': 'one', 'sms.sender': 'S' }
  const settings = new SettingsInForce(folder, valuesOf(started))
  settings.publish(valuesOf(started))
  const published = readPublishedSettings(folder)
  t.same(published, { pid: process.pid, values: started })
  if (published === null) return
  const next = { 'api.listen': ['b'], 'outbound.port': 26, 'sms.sender': NOT_READ, 'ui.enabled': true }
  t.same(findWaitingSettings(valuesOf(next), published), [
    { key: 'api.listen', inForce: ['a'], needs: 'restart' },
    { key: 'outbound.port', inForce: 25, needs: 'reload' },
    { key: 'ui.enabled', inForce: null, needs: 'restart' },
    { key: 'outbound.routes."b.test"', inForce: 'one', needs: 'reload' },
  ])
  settings.publish(valuesOf(next))
  const reloaded = readPublishedSettings(folder)
  t.same(reloaded?.values, { 'api.listen': ['a'], 'outbound.port': 26, 'sms.sender': NOT_READ })
})
