/** A real Prometheus beside the daemon: it scrapes, loads the shipped rules, and answers each query of the dashboard. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { freePort } from '../helpers/free-port.js'
import { parseMetrics } from '../helpers/parse-metrics.js'
import { childServer } from '../helpers/programs/child-server.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { waitUntil } from '../helpers/wait-until.js'

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string }[]
}

interface Dashboard {
  readonly panels: readonly Panel[]
}

interface QueryAnswer {
  readonly status: string
  readonly error?: string
  readonly data?: { readonly result: readonly { readonly value: readonly [number, string] }[] }
}

const dashboard = JSON.parse(readFileSync('config/monitoring/grafana-dashboard.json', 'utf8')) as Dashboard
const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** As Grafana fills in its variables. */
const fillIn = (expr: string): string => expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m')

t.test('the dashboard has its rows, and panels that do not overlap', async (t) => {
  const rows = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title)
  t.same(rows, ['Now', 'Queue', 'Delivery', 'Inbound and submission', 'Storage', 'Process', 'Upkeep', 'Nodes'])
  t.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length)
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, n) => `${x + (n % w)} ${y + Math.floor(n / w)}`),
  )
  t.equal(new Set(cells).size, cells.length)
})

t.test(
  'Prometheus scrapes, loads the rules and answers the dashboard',
  { skip: skipWithout('prometheus') },
  async (t) => {
    const app = await testDaemon(t, { settings: { metrics: { listen: ['127.0.0.1:0'] } } })
    const target = `127.0.0.1:${app.daemon.metrics[0]?.port}`
    const file = join(app.folder, 'prometheus.yml')
    const shipped = readFileSync('config/monitoring/prometheus.yml', 'utf8')
    const own = shipped
      .replaceAll('127.0.0.1:9465', target)
      .replace('- alerts.yml', `- ${resolve('config/monitoring/alerts.yml')}`)
      .replaceAll('interval: 15s', 'interval: 1s')
    t.not(own, shipped)
    writeFileSync(file, own)
    const port = await freePort()
    const listen = `127.0.0.1:${port}`
    const words = ['prometheus', `--config.file=${file}`, `--web.listen-address=${listen}`]
    await childServer(
      t,
      [...words, `--storage.tsdb.path=${join(app.folder, 'series')}`],
      'ready to receive web requests',
    )
    const ask = async (query: string): Promise<QueryAnswer> => {
      const answer = await fetch(`http://${listen}/api/v1/query?${new URLSearchParams({ query }).toString()}`)
      return (await answer.json()) as QueryAnswer
    }
    const isUp = async (): Promise<boolean> => (await ask('up{job="posthorn"}')).data?.result[0]?.value[1] === '1'
    await waitUntil('a scrape', isUp)

    const scraped = parseMetrics(await (await fetch(`http://${target}/metrics`)).text())
    // Nodes have names with PostgreSQL alone.
    const ofNodes = ['posthorn_node_info', 'posthorn_node_silence_seconds', 'posthorn_node_queue_entries']
    const names = new Set(['up', ...ofNodes, ...scraped.samples.map(({ name }) => name)])
    const rules = readFileSync('config/monitoring/alerts.yml', 'utf8')
    const alerts = [...rules.matchAll(/^ +expr: (.*)$/gm)].map(([, expr]) => expr ?? '')
    t.ok(alerts.length > 20)
    t.ok(expressions.length > 40)
    for (const expr of [...expressions, ...alerts]) {
      const { status, error } = await ask(fillIn(expr))
      t.equal(status, 'success', `${expr}: ${error}`)
      const used = expr.match(/\b(?:posthorn|process|nodejs)_[a-z_]+\b/g) ?? []
      for (const name of used) t.ok(names.has(name), `${name} in ${expr}`)
    }
    const stored = await ask('count({job="posthorn",__name__=~"posthorn_.*"})')
    const ownSamples = scraped.samples.filter(({ name }) => name.startsWith('posthorn_'))
    t.equal(stored.data?.result[0]?.value[1], String(ownSamples.length), 'each series is stored')
    const health = (await (await fetch(`http://${listen}/api/v1/rules`)).json()) as {
      data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] }
    }
    const loaded = health.data.groups.flatMap((group) => group.rules)
    t.equal(loaded.length, alerts.length)
    t.same(
      loaded.filter(({ health: state }) => state === 'err'),
      [],
    )
  },
)
