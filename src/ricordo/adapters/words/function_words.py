"""Words that carry grammar rather than meaning, in English, German, French and Italian.

One union, folded. A word that names things in one of the languages ("war", "hat", "son", "sole")
is left out, even where it is grammar in another.
"""

_ENGLISH = """
a about after all also am an and any are as at be because been before being but by can could did do
does doing down during each for from had has have having he her here hers him his how i if in into
is it its just let may me might more most must my no nor not now of off on once only or other our
ours out over own per please same shall she should so some such than that the their theirs them
then there these they this those through to too under until up upon us very was we were what when
where which while who whom whose why will with would you your yours s t d m ll re ve arent cant
couldnt didnt doesnt dont hadnt hasnt havent isnt mustnt shouldnt wasnt werent wont wouldnt
"""

_GERMAN = """
aber als am an auch auf aus bei bin bis bist da dabei damit dann darf das dass dein deine deinem
deinen deiner dem den denn der des dessen dich die dies diese diesem diesen dieser dieses dir doch
dort du durch ein eine einem einen einer eines er es etwas euch euer eure fuer fur gegen gibt habe
haben hatte hatten hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede
jedem jeden jeder jedes kann kein keine keinem keinen keiner konnen koennen man mein meine meinem
meinen meiner mich mir mit muss mussen muessen nach nicht noch nun nur ob oder ohne sehr sein seine
seinem seinen seiner sich sie sind so soll sollte um und uns unser unsere unserem unseren unserer
unter vom von vor wann warum was weil welche welchem welchen welcher welches wem wen wenn wer werde
werden wessen wie wieso wir wird wirst wo woher wohin wurde wurden zu zum zur zwischen uber ueber
"""

_FRENCH = """
a ai ait alors as au aucun aucune aussi aux avait avec avez avoir avons c ca car ce cela ces cet
cette ceux chez ci comme comment d dans de des donc du elle elles en est et etait ete etre eu eux
fait faut il ils j je l la laquelle le lequel les lesquelles lesquels leur leurs lui m ma mais me
meme mes moi mon n ne ni nos notre nous on ont ou par parce pas plus pour pourquoi puis qu quand
que quel quelle quelles quels qui quoi s sa sans se sera ses si sommes sont sous soyez suis sur t
ta te tes toi ton tous tout toute toutes tres tu un une vos votre vous y
"""

_ITALIAN = """
a abbia abbiamo ad agli ai al alla alle allo anche avere aveva avevano c che chi ci cio come con
cosa cui d da dagli dai dal dalla dalle dallo de degli dei del dell della delle dello dentro di
dove e ed era erano essere fra gia gli ha hai hanno ho i il in io l la le lei li lo loro ma me mi
mia mie miei mio ne negli nei nel nell nella nelle nello noi non nostra nostre nostri nostro o ogni
per perche piu po poi pure qual quale quali quando quanto quella quelle quelli quello questa queste
questi questo qui sara se sei senza si sia siamo siete solo sono sta stata stato su sua sue sugli
sui sul sull sulla sulle sullo suo suoi ti tra tu tua tue tuo tuoi un una uno v vi voi vostra
vostro
"""

FUNCTION_WORDS = frozenset(f"{_ENGLISH} {_GERMAN} {_FRENCH} {_ITALIAN}".split())
"""All of them, lower case and without accents."""
