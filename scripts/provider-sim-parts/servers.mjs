// The process of all five providers: `node servers.mjs PORT SEED`. It reports their counts to its parent each second.
import { seeded } from '../lib/seeded.mjs'
import { openProvider } from './provider-server.mjs'
import { providers } from './providers.mjs'

const [port, seed] = process.argv.slice(2).map(Number)
const open = await Promise.all(providers.map((provider, at) => openProvider(provider, port, seeded(seed + at))))
const report = () => process.send(Object.fromEntries(open.map(({ provider, state }) => [provider.name, state])))
setInterval(report, 1_000)
report()
process.once('disconnect', () => process.exit())
