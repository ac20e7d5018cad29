/** The first page of a workspace: its first steps, what needs attention, the numbers of mail, and the queue. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { workspace } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { ChoiceBar, useChoice } from '../../components/choice-bar.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { DailyCharts, startOfDays } from '../metrics/daily-charts.tsx'
import { loadMailNumbers, MailFigures, type MailNumbers } from '../metrics/mail-figures.tsx'
import { FirstSteps, type FirstStepsState, loadFirstSteps } from './first-steps.tsx'
import { areStepsHidden, hideSteps, showSteps } from './hidden-steps.ts'
import { NeedsAttention } from './needs-attention.tsx'
import './overview.css'
import { QueueNow } from './queue-now.tsx'

const ranges = ['7', '30', '90'].map((value) => ({ value, label: `${value} days` }))

/** Milliseconds between two loads of the numbers. */
const PAUSE = 60_000
/** Milliseconds between two loads of the first steps. While the first email is under way, the page shows how it arrives. */
const STEPS_PAUSE = { usual: 6_000, underWay: 2_000 }

export function OverviewPage(): VNode {
  const steps = useLoad(loadFirstSteps, [], { every: chooseStepsPause })
  const [isHidden, setHidden] = useState(areStepsHidden(workspace.value?.id ?? ''))
  const hide = (hidden: boolean): void => {
    const id = workspace.value?.id ?? ''
    if (hidden) hideSteps(id)
    else showSteps(id)
    setHidden(hidden)
  }
  return (
    <Page title="Overview">
      <Loaded from={steps}>
        {(found) => (
          <>
            {found.is_done || isHidden ? null : (
              <FirstSteps steps={found} onChanged={steps.reload} onHide={() => hide(true)} />
            )}
            <NeedsAttention
              maySend={found.domain?.status === 'verified'}
              hasSteps={!found.is_done && !isHidden}
              domain={found.domain?.domain}
            />
            {found.email === null ? null : <RecentMail />}
            {isHidden && !found.is_done ? (
              <div class="overview-more">
                <Button small onClick={() => hide(false)}>
                  Show the first steps
                </Button>
              </div>
            ) : null}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function chooseStepsPause({ is_done: isDone, email, is_delivered: isDelivered }: FirstStepsState): number | null {
  if (isDone) return null
  return email === null || isDelivered ? STEPS_PAUSE.usual : STEPS_PAUSE.underWay
}

function RecentMail(): VNode {
  const [days, chooseDays] = useChoice('days', ranges, '30')
  const numbers = useLoad(() => loadMailNumbers({ from: startOfDays(Number(days)) }), [days], { every: () => PAUSE })
  return (
    <>
      <Section
        title={`Mail of the last ${days} days`}
        intro="Opens, clicks and bounces count on the day on which their email was accepted."
        actions={<ChoiceBar label="Days that are shown" choices={ranges} chosen={days} onChoose={chooseDays} />}
      >
        <Loaded from={numbers}>{(found) => <Numbers numbers={found} />}</Loaded>
      </Section>
      <QueueNow />
    </>
  )
}

function Numbers({ numbers }: { readonly numbers: MailNumbers }): VNode {
  return (
    <>
      <MailFigures {...numbers} />
      <DailyCharts {...numbers.daily} />
      <div class="overview-more">
        <ButtonLink small href="/metrics">
          All metrics
        </ButtonLink>
        <ButtonLink small href="/links">
          Clicked links
        </ButtonLink>
      </div>
    </>
  )
}
