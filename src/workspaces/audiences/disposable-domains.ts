/**
 * Domains that give out addresses for some minutes, from a published list, which is as old as its version. It is loaded
 * when it is needed for the first time: parsing it takes some milliseconds.
 */
let loading: Promise<ReadonlySet<string>> | null = null

export function loadDisposableDomains(): Promise<ReadonlySet<string>> {
  loading ??= import('disposable-email-domains-js').then(({ disposableEmailBlocklistSet }) =>
    disposableEmailBlocklistSet(),
  )
  return loading
}

/** Labels of a name that are looked at: services give out subdomains too. */
const MAX_LABELS = 5

export function isDisposable(domain: string, disposable: ReadonlySet<string>): boolean {
  const labels = domain.toLowerCase().split('.').slice(-MAX_LABELS)
  return labels.some((_label, start) => start < labels.length - 1 && disposable.has(labels.slice(start).join('.')))
}
