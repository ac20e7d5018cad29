/** Parts of a page, one of which is shown. The address has its id, so that you can link it. */
import type { ComponentChildren, VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { useUniqueId } from './unique-id.ts'

interface Tab {
  readonly id: string
  readonly title: string
  readonly show: () => ComponentChildren
}

interface TabsProps {
  /** What the tabs are parts of. */
  readonly label: string
  readonly tabs: readonly Tab[]
  /** The parameter of the address. */
  readonly parameter?: string
}

export function Tabs({ label, tabs, parameter = 'tab' }: TabsProps): VNode {
  const list = useRef<HTMLDivElement>(null)
  const id = useUniqueId()
  const [current, choose] = useCurrentTab(tabs, parameter)
  const move = (event: KeyboardEvent): void => {
    const at = current === undefined ? 0 : tabs.indexOf(current)
    const target = findTarget(event.key, at, tabs)
    if (target === undefined) return
    event.preventDefault()
    choose(target)
    list.current?.querySelectorAll('button')[tabs.indexOf(target)]?.focus()
  }
  return (
    <>
      <div ref={list} class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            id={`${id}-${tab.id}`}
            type="button"
            role="tab"
            aria-selected={tab === current}
            aria-controls={`${id}-panel`}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => choose(tab)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${current?.id}`}>
        {current?.show()}
      </div>
    </>
  )
}

/** The tab to which a key moves, as the ARIA pattern of tabs says. */
function findTarget(key: string, at: number, tabs: readonly Tab[]): Tab | undefined {
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[key]
  return to === undefined ? undefined : tabs.at(to % tabs.length)
}

function useCurrentTab(tabs: readonly Tab[], parameter: string): [Tab | undefined, (tab: Tab) => void] {
  const [search, setSearch] = useSearchParams()
  const choose = ({ id }: Tab): void =>
    setSearch((before) => new URLSearchParams({ ...Object.fromEntries(before), [parameter]: id }), { replace: true })
  return [tabs.find(({ id }) => id === search.get(parameter)) ?? tabs[0], choose]
}
