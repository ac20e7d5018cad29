/** The text format of Prometheus, as a scraper reads it. */

interface Sample {
  readonly name: string
  /** With its labels, as it is written. */
  readonly series: string
  readonly value: number
}

export interface ScrapedMetrics {
  readonly samples: readonly Sample[]
  /** Names of metrics, as `HELP` lines have them. */
  readonly names: readonly string[]
  readonly readValue: (series: string) => number
}

export function parseMetrics(text: string): ScrapedMetrics {
  const samples: Sample[] = []
  const names: string[] = []
  for (const line of text.split('\n')) {
    const help = /^# HELP (\S+) \S/.exec(line)?.[1]
    if (help !== undefined) names.push(help)
    if (line === '' || line.startsWith('#')) continue
    const [, series = '', value = ''] = /^(\S+?(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? []
    if (series === '') throw new Error(`no sample: ${line}`)
    samples.push({ name: series.split('{')[0] ?? '', series, value: Number(value) })
  }
  const values = new Map(samples.map(({ series, value }) => [series, value]))
  const readValue = (series: string): number => {
    const value = values.get(series)
    if (value === undefined) throw new Error(`no series ${series}`)
    return value
  }
  return { samples, names, readValue }
}
