// A whole broadcast to the sink, from its `send` to the last message, beside the relay of messages of the same size.
import { performance } from 'node:perf_hooks'
import { fillAudience, openBroadcasts } from '../lib/broadcasts.mjs'
import { watchTree } from '../lib/processes.mjs'
import { compare } from './compare.mjs'
import { startSink } from './load.mjs'
import { measureRelay } from './measure.mjs'
import { posthorn } from './posthorn.mjs'

const SIZE = 20_480

export async function measureBroadcast({ folder, messages, warmUp, rounds }) {
  const sides = [
    { name: 'broadcast', measure: () => measureOnce({ folder, messages, warmUp }) },
    { name: 'relay', measure: () => measureRelay(posthorn, { folder, messages, warmUp, size: SIZE, sessions: 20 }) },
  ]
  const title = 'a broadcast of 20 KB, five variables and ten links, beside the relay of 20 KB (mark: a half)'
  return [await compare(title, sides, rounds)]
}

async function measureOnce({ folder, messages, warmUp }) {
  const sink = await startSink()
  const audiences = []
  const prepare = async (store) => {
    for (const count of [warmUp, messages]) audiences.push(await fillAudience(store, count))
  }
  const server = await posthorn.start({ folder, sink: sink.port, deliver: true, prepare })
  const broadcasts = openBroadcasts(server.api)
  try {
    if (warmUp > 0) {
      await broadcasts.finished(await broadcasts.send(audiences[0]), 300)
      await sink.received(warmUp)
    }
    const watch = watchTree(server.pids())
    const begun = performance.now()
    await broadcasts.send(audiences[1])
    await sink.received(warmUp + messages)
    const seconds = (performance.now() - begun) / 1000
    return { rate: messages / seconds, seconds, messages, ...watch.end() }
  } finally {
    broadcasts.close()
    await server.stop()
    await sink.stop()
  }
}
