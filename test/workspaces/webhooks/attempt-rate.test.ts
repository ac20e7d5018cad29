/** How many attempts begin at which load. */
import t from 'tap'
import { attemptsAtLoad } from '../../../src/workspaces/webhooks/attempt-rate.js'

t.test('events are never stopped, whatever the load is', async (t) => {
  const table: readonly [load: number, attempts: number][] = [
    [0, Number.POSITIVE_INFINITY],
    [0.49, Number.POSITIVE_INFINITY],
    [0.5, 100],
    [0.69, 100],
    [0.7, 20],
    [1, 20],
  ]
  for (const [load, attempts] of table) t.equal(attemptsAtLoad(load), attempts, String(load))
})
