/** Lists what needs attention, with the page on which you repair each. */
import type { VNode } from 'preact'
import { api, sessionApi, unwrap } from '../../api/client.ts'
import { mayOperate } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { ButtonLink } from '../../components/button.tsx'
import { readNow } from '../../components/clock.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { Note } from '../../components/values.tsx'
import { type AttentionItem, listAttentionItems } from './attention-items.ts'

/** Milliseconds between two loads. */
const PAUSE = 30_000

export function NeedsAttention(): VNode {
  const items = useLoad(loadItems, [], { every: () => PAUSE })
  return (
    <Section title="Needs attention">
      <Loaded from={items}>
        {(found) =>
          found.length === 0 ? (
            <Note tone="good">
              <p>Nothing. Domains, webhooks, limits and broadcasts are in order.</p>
            </Note>
          ) : (
            <ul class="attention">
              {found.map((item) => (
                <Item key={item.key} item={item} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

async function loadItems(): Promise<readonly AttentionItem[]> {
  const [attention, queue, usage] = await Promise.all([
    unwrap(sessionApi.GET('/ui/api/attention')),
    unwrap(sessionApi.GET('/ui/api/queue')),
    unwrap(api.GET('/v1/usage')),
  ])
  return listAttentionItems({ attention, queue, usage, mayOperate: mayOperate.value, now: readNow() })
}

function Item({ item: { tone, title, text, link } }: { readonly item: AttentionItem }): VNode {
  return (
    <li class={`attention-item attention-${tone}`}>
      <div>
        <h3>{allowBreaks(title)}</h3>
        <p>{allowBreaks(text)}</p>
      </div>
      {link === null ? null : (
        <ButtonLink small href={link.href}>
          {link.label}
        </ButtonLink>
      )}
    </li>
  )
}
