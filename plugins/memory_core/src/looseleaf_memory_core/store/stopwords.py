"""Function words by language. Only the list of the query's own language applies, never all lists to every query."""

from __future__ import annotations

from collections.abc import Iterable

from ..text import tokens

_LISTS = {
    "en": """a about above after again against all am an and any are aren as at be because been before being below between
        both but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had hadn
        has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m me
        more most my myself no nor not now of off on once only or other our ours ourselves out over own re s same she should
        shouldn so some such t than that the their theirs them themselves then there these they this those through to too
        under until up ve very was wasn we were weren what when where which while who whom whose why will with won would
        wouldn you your yours yourself yourselves""",
    "de": """aber alle als am an auch auf aus bei bin bis da damit dann das dass dein dem den der des die dies diese dieser
        dieses doch dort du durch ein eine einem einen einer eines er es euch für gegen gibt hab habe haben hat hatte hier ich
        ihm ihn ihnen ihr ihre im in ist ja jede jeder jedes kann kein keine können man mein mich mir mit muss nach nicht noch
        nun nur ob oder ohne sehr sein seine sich sie sind so soll über um und uns unser unter vom von vor wann war waren warum
        was weil welche welchem welchen welcher welches wenn wer werden wie wir wird wo wurde wurden zu zum zur""",
    "nl": """aan als bij dan dat de den der deze die dit door dus een en er geen had heb hebben heeft het hij hoe hun ik in is
        je jij kan maar me meer met mijn moet na naar niet nog nu of om onder ons ook op over te tegen tot u uit van veel voor
        waar waarom wanneer was wat we welk welke wel werd wie wij worden wordt ze zei zich zij zijn zo zonder zou""",
    "fr": """à au aux avec ce ces cette comment dans de des du elle elles en est et était été être eu fait il ils je l la le
        les leur leurs lui ma mais me mes moi mon ne nos notre nous on ont où ou par pas pour pourquoi qu quand que quel quelle
        quelles quels qui s sa sans se sera ses si son sont sur ta te tes toi ton tu un une vos votre vous y""",
    "es": """a al como con cómo cual cuál cuando cuándo de del desde donde dónde el ella ellos en entre era es esta este esto
        estos está están fue ha hasta hay la las le les lo los más me mi muy no nos o para pero por porque qué que quien quién
        se ser si sin sobre son su sus también te tiene un una uno unos y ya yo""",
    "pt": """a ao aos as até com como da das de dela dele do dos e é ela ele eles em entre era essa esse está eu foi há isso
        já lhe mais mas me mesmo meu minha muito na não nas no nos nós o onde os ou para pela pelo por porque quais qual quando
        que quem se sem ser seu sua são também te tem um uma você""",
    "it": """a agli ai al alla alle anche c che chi ci come con cosa da dal dalla dei del della delle di dove e è era gli ha
        hanno i il in io l la le lei lo loro lui ma mi nel nella noi non o per perché più qual quale quali quando quanto quello
        questa questo se sei si sono sta su sua suo sul tra tu un una uno voi""",
    "hi": """अपना अपनी अपने इस इसका इसके इसमें इसे उन उनका उनकी उनके उस उसका उसकी उसके एक एवं और कब कर करता करते करने कहाँ कहां का
        कि किए किया किस किसका किसने किसी की कुछ के को कौन कौनसा क्या क्यों गई गए गया जब जहाँ जो तक तथा तो था थी थे द्वारा न नहीं ने
        पर पे भी मुझे में मैं यह या ये रहा रही रहे वह वाला वाली वाले वे सकता से हम हमने हमारा हमारी हमारे हर है हैं हुआ हुई हुए हूँ हो
        होता होती होते होने कितना कितनी कितने कैसे कौन-सा""",
    "tr": """ama bana ben bir biz bu çok da daha de diye en gibi hangi hem için ile ise kadar ki kim mı mi mu mü nasıl ne neden
        nerede niçin o olan olarak oldu on onun sen siz şu var ve veya ya yok""",
    "ru": """а без был была были было быть в вам вас весь во вот все вы где да для до его ее если есть еще же за и из или им их
        к как какая какие какой ко когда кто ли мне мы на над не нет но о об он она они от по под почему при с со так такой там
        то только у уже что чтобы эта эти это я""",
    "zh": """什么 什麼 为什 為什 怎么 怎麼 怎样 怎樣 如何 哪些 哪个 哪個 哪里 哪裡 哪一 哪年 多少 几个 幾個 谁是 誰是 是谁 是誰 是什 么是 麼是 的是
        是哪 是多 有多 有哪 有什 的什 我们 我們 他们 他們 它们 它們 可以 以及 或者 但是 因为 因為 所以 这个 這個 那个 那個""",
    "ja": """です ます した して する ない から まで だっ った ので のは とは には では とい いう いう う か なに 何で 何が 何を 誰が どの どこ こで
        いつ どう なぜ これ それ あれ この その""",
    "ar": "أن إلى التي الذي أو أي أين إن بعد بين تم ثم حتى ذلك على عن عند عندما في فيه قبل قد كان كانت كل كم كيف لا لم لماذا ما متى "
    "مع من منذ هذا هذه هل هو هي و ومن",
}
_SETS = {language: frozenset(token for word in words.split() for token in tokens(word)) for language, words in _LISTS.items()}
_LANGUAGES = {
    token: tuple(language for language, held in _SETS.items() if token in held) for token in frozenset().union(*_SETS.values())
}


def stop_words(terms: Iterable[tuple[str, ...]]) -> frozenset[str]:
    """Return the function words of the language that `terms` are most likely in; English where several fit alike."""
    counts = dict.fromkeys(_SETS, 0)
    for token in {token for term in terms for token in term}:
        for language in _LANGUAGES.get(token, ()):
            counts[language] += 1
    best = max(counts, key=counts.__getitem__)  # the first of equals: English leads the table
    return _SETS[best] if counts[best] else frozenset()
