/** Says how large DNS providers want names and values to be entered, and recognises them by the name servers of a zone. */

export interface DnsProvider {
  readonly id: string
  readonly name: string
  /** Parts of the host names of its name servers. */
  readonly servers: readonly string[]
  /** Host names in values end with a dot there. Otherwise the provider adds the zone to them. */
  readonly endsWithDot: boolean
  readonly hints: readonly string[]
}

const shortNames = 'Enter the short name. The provider adds the zone to it.'
const atSign = 'For the domain itself, enter @ as the name.'
const values = 'Enter host names without a dot at the end.'

export const dnsProviders: readonly DnsProvider[] = [
  {
    id: 'cloudflare',
    name: 'Cloudflare',
    servers: ['.ns.cloudflare.com'],
    endsWithDot: false,
    hints: [
      'Set “Proxy status” to “DNS only” (grey cloud) for each record. With the proxy, bounces and the check fail.',
      'Short and full names both work.',
      'DNS › Records › Import and Export takes the zone file.',
    ],
  },
  {
    id: 'route53',
    name: 'Amazon Route 53',
    servers: ['.awsdns-'],
    endsWithDot: false,
    hints: [
      'Enter the short name: the form shows the zone behind the field. For the domain itself, leave the field empty.',
      'Leave “Alias” off.',
      'Put quotation marks around the values of TXT records.',
      '“Import zone file” takes the zone file while the zone has no records of its own.',
    ],
  },
  {
    id: 'godaddy',
    name: 'GoDaddy',
    servers: ['.domaincontrol.com'],
    endsWithDot: false,
    hints: [shortNames, atSign, values],
  },
  {
    id: 'namecheap',
    name: 'Namecheap',
    servers: ['.registrar-servers.com'],
    endsWithDot: false,
    hints: [
      'Enter the short name as “Host”, under “Advanced DNS”. With the full name, the zone would be in it twice.',
      atSign,
      'For the MX record, first choose “Custom MX” under “Mail settings”.',
    ],
  },
  {
    id: 'ionos',
    name: 'IONOS',
    servers: ['.ui-dns.', '.ionos.'],
    endsWithDot: false,
    hints: ['Enter the short name as “Host name”.', atSign, values],
  },
  {
    id: 'ovh',
    name: 'OVHcloud',
    servers: ['.ovh.net', '.ovh.ca', '.anycast.me'],
    endsWithDot: true,
    hints: [
      'Enter the short name as “Sub-domain”. For the domain itself, leave the field empty.',
      'Host names in values end with a dot, as they are shown here.',
      '“Change in text format” takes the lines of the zone file.',
    ],
  },
  {
    id: 'hetzner',
    name: 'Hetzner',
    servers: ['.hetzner.com', '.hetzner.de', '.second-ns.de', '.second-ns.com'],
    endsWithDot: true,
    hints: [shortNames, atSign, 'Host names in values end with a dot, as they are shown here.'],
  },
  {
    id: 'google',
    name: 'Google Cloud DNS',
    servers: ['.googledomains.com'],
    endsWithDot: true,
    hints: [
      'Enter the short name: the form shows the zone behind the field. For the domain itself, leave the field empty.',
      'Host names in values end with a dot, as they are shown here.',
      'If the domain was at Google Domains, its records are now at Squarespace: choose that one.',
    ],
  },
  {
    id: 'squarespace',
    name: 'Squarespace',
    servers: ['.squarespacedns.com'],
    endsWithDot: false,
    hints: ['Add the records under “Custom records”.', 'Enter the short name as “Host”.', atSign],
  },
]

export function recogniseProvider(nameservers: readonly string[]): DnsProvider | null {
  const hosts = nameservers.map((host) => `.${host.toLowerCase()}`)
  return dnsProviders.find(({ servers }) => hosts.some((host) => servers.some((part) => host.includes(part)))) ?? null
}
