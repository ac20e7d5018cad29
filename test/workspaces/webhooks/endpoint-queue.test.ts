/** Jobs of one endpoint: a limit at a time, in order, and given back when one fails. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { EndpointQueue } from '../../../src/workspaces/webhooks/endpoint-queue.js'

interface Job {
  readonly webhookId: string
  readonly limit: number
  readonly name: string
}

t.test('no more run than the limit allows, in the order of the calls, apart for each webhook', async (t) => {
  const started: string[] = []
  const finish = new Map<string, (succeeded: boolean) => void>()
  const returned: string[] = []
  const queue = new EndpointQueue<Job>({
    run: ({ name }) => {
      started.push(name)
      return new Promise((resolve) => finish.set(name, resolve))
    },
    giveBack: ({ name }) => void returned.push(name),
  })
  for (let at = 1; at <= 5; at += 1) queue.add({ webhookId: 'a', limit: 2, name: `a${at}` })
  queue.add({ webhookId: 'b', limit: 1, name: 'b1' })
  t.same(started, ['a1', 'a2', 'b1'])
  finish.get('a2')?.(true)
  await nextTurn()
  t.same(started, ['a1', 'a2', 'b1', 'a3'])
  finish.get('a1')?.(false)
  await nextTurn()
  t.same(returned, ['a4', 'a5'], 'what waits behind a failure is not made')
  t.same(started.length, 4)
  finish.get('a3')?.(true)
  finish.get('b1')?.(true)
  await nextTurn()
  queue.add({ webhookId: 'a', limit: 1, name: 'a6' })
  t.same(started.at(-1), 'a6')
})
