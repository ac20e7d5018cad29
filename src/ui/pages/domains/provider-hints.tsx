/** Says how to enter the records at the DNS provider of the domain, which its name servers tell, or the user chooses. */
import type { VNode } from 'preact'
import { SelectField } from '../../components/fields.tsx'
import { Note } from '../../components/values.tsx'
import { type DnsProvider, dnsProviders, recogniseProvider } from './dns-providers.ts'

interface ProviderHintsProps {
  readonly zone: string
  readonly nameservers: readonly string[]
  readonly provider: DnsProvider | null
  readonly onChoose: (id: string) => void
}

const options = [
  { value: '', label: 'Another provider' },
  ...dnsProviders.map(({ id, name }) => ({ value: id, label: name })),
]

export function ProviderHints({ zone, nameservers, provider, onChoose }: ProviderHintsProps): VNode {
  const isRecognised = provider !== null && provider.id === recogniseProvider(nameservers)?.id
  return (
    <div class="provider">
      <SelectField
        key={provider?.id ?? ''}
        name="dns_provider"
        label="DNS provider"
        options={options}
        value={provider?.id ?? ''}
        hint={isRecognised ? `Recognised by the name servers of ${zone}.` : describeServers(zone, nameservers)}
        onChange={onChoose}
      />
      <Note tone="info" title={provider === null ? 'How to enter the names' : `At ${provider.name}`}>
        <ul class="hints">
          {(provider?.hints ?? otherHints(zone)).map((hint) => (
            <li key={hint}>{hint}</li>
          ))}
        </ul>
      </Note>
    </div>
  )
}

function describeServers(zone: string, nameservers: readonly string[]): string {
  if (nameservers.length === 0) return `Choose the provider at which you manage the DNS of ${zone}.`
  return `The name servers of ${zone} are ${nameservers.slice(0, 2).join(' and ')}.`
}

function otherHints(zone: string): readonly string[] {
  return [
    `If the form shows ${zone} behind the name, enter the short name. Otherwise enter the full name.`,
    'After saving, look at the record: if the zone is in its name twice, enter the short name instead.',
  ]
}
