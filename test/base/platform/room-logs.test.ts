import t from 'tap'
import { createLog } from '../../../src/base/platform/log.js'
import { RoomLogs } from '../../../src/base/platform/room-logs.js'

t.test('a room has its own level, which changes while the daemon runs', async (t) => {
  const lines: string[] = []
  const root = createLog({ write: (line) => void lines.push(line) }, { level: 'info', format: 'json' }, {})
  const logs = new RoomLogs(root, { delivery: 'debug', api: 'warn' })
  const writeAll = (): string[] => {
    lines.length = 0
    for (const [name, log] of [
      ['root', root],
      ['delivery', logs.of('delivery')],
      ['api', logs.of('api')],
      ['smtp', logs.of('smtp')],
    ] as const) {
      log.debug(`${name} debug`)
      log.info(`${name} info`)
    }
    return lines.map((line) => String(JSON.parse(line).msg))
  }
  t.same(writeAll(), ['root info', 'delivery debug', 'delivery info', 'smtp info'])
  t.same(Object.keys(JSON.parse(lines[1] ?? '')), ['level', 'time', 'msg'], 'no field is added')
  logs.setLevels('debug', { delivery: 'error' })
  t.same(writeAll(), ['root debug', 'root info', 'api debug', 'api info', 'smtp debug', 'smtp info'])
})
