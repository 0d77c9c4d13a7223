"""A model's constant offset between questions and texts, of which the one-bit scan subtracts a part.

Models with an instruction before questions lay them all to one side. The cosine does not mind; a code, which only
knows on which side of the centre a vector lies, does: without this the shortlist of 100,000 vectors misses one in
ten of the true first sixty, with it one in forty (docs/benchmarks.md). `tools/models.py lean` prints it anew.
"""

import base64
import struct

SHARE = 0.7
"""How much of it is taken away: anything from a half to all of it serves."""

LEANS = {
    "snowflake-arctic-embed-s": (
        "Cm}&8Z5%7BN+5is%_uCWZKxHc0Vxoov!$mj)0$Htawae$e<YTumnLB(`=pQ{Q=~H~5FO{JMyJE71fkj`sv?`Ax*|-X@Eg*a3n;}W"
        "e=0$!2B@qh6dAsp6{GJY>7g5`@uGdBvK(Ndf0_#-Lny%@!zQ01&=?#cp`=)*XQEFjA)$^a`4%guy`?WC#iF~QlO?XK^Ba>V=c^VW"
        "6Db!Z@uhvM5F|35ORHWY^_aY=C8+i%#32Z*Bc@`aR-~V*ji+g&cqOMN;U&NsyCvoyqa8D)cPdgL%pjSggev@|{}L{&lP3P8#vUS}"
        "IG^b&yeM0uGNAD&rz?9Rz#`cxQ6TV`6`@q62PAbQwV`mGuc41CU?tzElc3=srjz|5E~SZ}IU?vJdY}L&3>~8-b}NONBq+V6sVd^0"
        "_$K-pM=oD3P^sJ{3Zf3E79o}#IjT^sETG>d@FQ!YcA;#Z(ka`b#i8+}b)ZceG9M!<3Z-P2A*B&1%%0MqohJ;O39I?5V3@I|n<Pvr"
        "cp$JSQmPvzOq~Lx<rHJ3kD)A}oE$8mwIu_saH{|(eJQN~>?<o9@hHqCG$kz_5~W}$AtM2<?I^4$r6M;dwj*a9?IGeQ9H!N!SE3Ic"
        "V5@Ab*r%GMGOSQ3vKdMt7$Jox?H-0EYN|yl)*==lM;H<%0;ZN2PNcRanJDQc0;`X#<DH<Wznu*!4<-JZrYQQS;ikx=QYKfX7pcP`"
        "aw0997ouMyvyk*9hpfdZQl&vHKcoVu%%&@-5S$#M?HQh>Xd!tZ^QNdFwW_2kr6!xA-yz+kf+~O~wItsgN*(4OS()r4w5@I_KC5Xh"
        "7?zKxgD9;e)}b4iY$L>|2C9pxzo9dvzoy9|;FI8^!l=R`L8^@?|0kTL4=VPc1Eg4=NT9x>N1lJFOd(9Dah$y=rJfln1fiTJgq)e1"
        ")t*tI!6~*NC==M3ETtT&A|kD&ucta7h9s$?-l-@U-=>+3ZzOslN3F;!Bd1xC"
    ),
    "bge-small-en-v1.5": (
        "$RaBzJ*0Xm-XKY!bDT&bf0KozpQ8yNy&$6&eWLB3j2w_BjU~Sv1EJF)5-7A9A|&G^@+c;gI3YHp<ELF9gdsQ}R;AA+G9<$yh$&|n"
        ";-cmpZX~28ULsc|p(EO*z^K`kLZsKDQKCs9#)qY(C!*~jB$!$hP$IOWJEX~<A*6hm#-;L|;+D%KNhBVib*3^N(V!zA8JNnX$(cJJ"
        "N+m%iT$m}Q0ioKYoFmtvFr%%YSRHt!(jD9yTc#1HexM~GA14wea3SL$lb!gSGob((G9?HfUyO{LwG+;xWF4C#z#ufFY9;C(ZXzun"
        "Ua0(>(xLy5HJuBgJf9ey<DQbKfSyC3(-=P^f*cDVTcnz(Hl2~AW}O`=1tZrdE2!Hd^B`)aHKK?d7a=|*i4$j>ww-b&ZzX}C$)N$J"
        "!<`QzsiZ(7@E|UwVHFdU^rCd7v?dcA3a3XTG^in*VI+E^QJt!wDjt5K52HPnm!=qjwxhxwCn6{yy`m_fgQdYB=N3sI9+;~d7b9n)"
        "tfG4ztfAqh5}^wr)gZy6+K!Z^QmBt0@Tv0;NF-#VT8KcPu^?<D_nND!=A{}T*r-yaTqe&ZvYOkb+#fKbF(XWzS0DwW!l3&fq!~7n"
        "hmd9(ARfXezaKCf_#zvp(;)w*qn(+emZ(P+>zKPB+aRbN?V)`iO(bNcCZi!7oFRm#H7R(ex{9tL=%IEZTPHA}y&%pYN2N!ZwIpw)"
        "dm!_q4W8nn2p-QTwjs}`l_YN_1t!L%+9Z9S&?Y~qcAh(s@E0(o;vuOaav<a*_$6Q)sh_%=mmHNF=ah{nI3XJz%boWhTb<J-Gb863"
        "?IYJHqmkbpjTXEf%c{;OJP4B~10*P)Pb00Nx{~%A*d>FZY9{2EVWxhhV;xYXj;UiGFr50Dm6*dAf1JrA^C2c9&!P<_TO>Fegr)wR"
        "W+NpaIvijG8z=%LCZmF-xtu7YFB$+LLZIf3iJZkEAE6W^Lm&X1(j<12fR(5t"
    ),
}
"""By model: the mean difference between a text as a question and as a text, as float16 in base 85."""


def lean_of(name: str) -> bytes:
    """The lean of a model as little-endian float32; empty where it has none."""
    kept = base64.b85decode(LEANS.get(name, ""))
    numbers = struct.unpack(f"<{len(kept) // 2}e", kept)
    return struct.pack(f"<{len(numbers)}f", *(SHARE * number for number in numbers))
